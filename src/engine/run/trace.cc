// SPDX-License-Identifier: Apache-2.0
#include "engine/run/trace.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>
#include <fmt/format.h>

#include <forebay/json.h>

namespace forebay::engine {

Trace::Trace(std::int64_t spans, std::size_t threads) : spans_(static_cast<std::size_t>(spans)), threads_{threads} {}

std::string Trace::text(const std::vector<std::string>& files, Clock::time_point since) const {
  const auto microseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  std::string out = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  const auto to = std::back_inserter(out);
  for (std::size_t thread = 0; thread <= threads_; ++thread) {
    const std::string name = thread == threads_ ? "consumer" : fmt::format("worker {}", thread + 1);
    fmt::format_to(to, R"({}{{"ph": "M", "name": "thread_name", "pid": 1, "tid": {}, "args": {{"name": "{}"}}}})",
                   thread == 0 ? "" : ",\n", thread + 1, name);
  }
  const std::int64_t kept = std::min(added_, std::ssize(spans_));
  for (std::int64_t i = added_ - kept; i < added_; ++i) {
    const Span& span = spans_[static_cast<std::size_t>(i % std::ssize(spans_))];
    const bool consumer = span.thread == threads_;
    std::string_view name = consumer ? "wait" : "idle";
    if (span.work == Work::scan) name = "scan";
    if (span.work == Work::order) name = "order";
    if (span.work == Work::decode) name = "decode";
    std::string what = fmt::format(R"("batch": {})", span.what);
    if (span.work == Work::scan) what = "\"file\": " + Json{files[static_cast<std::size_t>(span.what)]}.text();
    if (span.work == Work::idle && !consumer) what.clear();
    fmt::format_to(to,
                   ",\n"
                   R"({{"ph": "X", "name": "{}", "pid": 1, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
                   name, span.thread + 1, microseconds(span.begin - since), microseconds(span.end - span.begin), what);
  }
  return out + "\n]}\n";
}

}  // namespace forebay::engine
