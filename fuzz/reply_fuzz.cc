// SPDX-License-Identifier: Apache-2.0
// Heads of answers of http: any text is read without a fault, and what is said of a range makes sense.
#include <string_view>

#include "fuzz/check.h"
#include "stores/http/reply.h"

using forebay::fuzz::check;
using forebay::stores::http::content_range_of;
using forebay::stores::http::Reply;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = forebay::fuzz::text_of(data, size);
  Reply reply;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    if (!reply.add(line.empty() ? text : line)) break;
    text.remove_prefix(line.empty() ? text.size() : line.size());
    if (const auto range = content_range_of(line)) {
      const bool whole = range->first == -1 && range->last == -1;
      check(whole || (range->first >= 0 && range->last >= range->first), "a range is none, or has a byte");
      check(range->size == -1 || range->last < range->size, "a range lies in its file");
    }
  }
  check(reply.status() >= 0 && reply.status() <= 999, "a status has three digits");
  check(reply.length() >= -1 && reply.size() >= -1 && reply.retry_after() >= -1, "numbers are not negative");
  check(reply.version() == reply.version(), "a version is a function of the head");
  return 0;
}
