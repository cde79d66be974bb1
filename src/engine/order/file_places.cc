// SPDX-License-Identifier: Apache-2.0
#include "engine/order/file_places.h"

#include <algorithm>
#include <utility>

#include "base/draw.h"

namespace forebay::engine {

namespace {

/// The first stage: the handles of the source's files, in the order of the list.
class Files final : public Handles {
 public:
  explicit Files(std::size_t count) : count_{count} {}
  void begin(std::int64_t) override { next_ = 0; }
  Result<std::size_t> pull(std::span<Handle> out) override {
    const std::size_t count = std::min(out.size(), count_ - next_);
    for (std::size_t i = 0; i < count; ++i) out[i] = {.block = static_cast<std::uint32_t>(next_ + i)};
    next_ += count;
    return count;
  }

 private:
  const std::size_t count_;
  std::size_t next_ = 0;
};

/// The place of each file in the order of a pass.
PassTimes::Places places(const Program& program, std::int64_t pass) {
  const auto files = ordered_files(program, nullptr, false);
  PassTimes::Places out(program.source.parts(), PassTimes::not_read);
  files->begin(pass);
  Handle file;
  for (std::uint32_t place = 0;; ++place) {
    const auto count = files->pull({&file, 1});
    if (!count.ok() || *count == 0) return out;
    if (file.block < out.size()) out[file.block] = place;
  }
}

}  // namespace

std::unique_ptr<Handles> ordered_files(const Program& program, OpenParts* parts, bool measured) {
  std::unique_ptr<Handles> out = std::make_unique<Files>(program.source.parts());
  for (std::size_t i = 0; i < program.file_orders.size(); ++i) {
    const Ordering& order = program.file_orders[i];
    out = order.make({.seed = program.seed,
                      .purpose = i + 1,
                      .deterministic = program.deterministic,
                      .upstream = std::move(out),
                      .ask = parts != nullptr ? ask_of(*parts, order.asks) : Ask{},
                      .gauge = measured ? parts->add_gauge(true) : nullptr});
  }
  return out;
}

PassTimes pass_times(const Program& program, std::int64_t pass, bool shared) {
  const std::uint64_t run = mix(program.stream ^ mix(program.seed));
  const auto files = static_cast<std::uint32_t>(std::max<std::size_t>(1, program.source.parts()));
  const auto moves = [](const Ordering& order) { return order.asks || order.repeats || !order.attributes.empty(); };
  if (program.file_orders.empty() || std::ranges::any_of(program.file_orders, moves)) return {run, shared, pass, files};
  return {run, shared, pass, files, places(program, pass), places(program, pass + 1)};
}

}  // namespace forebay::engine
