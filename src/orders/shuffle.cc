// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/shuffle.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/draw.h"
#include "orders/global_shuffle.h"

namespace forebay::orders {
namespace {

/// Each output is drawn uniformly from the buffer and replaced by the next input. Only handles move: 16 bytes a record.
class ShuffleBuffer final : public Handles {
 public:
  ShuffleBuffer(std::int64_t capacity, OrderContext context)
      : capacity_{static_cast<std::size_t>(capacity)}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    if (context_.reader != nullptr) {
      context_.reader->drop(held_);
      context_.reader->drop(std::span{ahead_}.subspan(next_, filled_ - next_));
    }
    held_.clear();
    next_ = filled_ = 0;
    drawn_ = 0;
    ended_ = fetched_ = false;
    key_ = draw_key({.seed = context_.seed, .epoch = static_cast<std::uint64_t>(epoch), .purpose = context_.purpose});
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (!fetched_ && context_.reader != nullptr) {
      FOREBAY_TRY(fetched_, context_.reader->fetch(held_));
    }
    std::size_t count = 0;
    for (; count < out.size(); ++count) {
      while (held_.size() < capacity_ && !ended_) {  // only while the buffer fills for the first time, or drains
        if (auto more = refill(); !more.ok()) return count > 0 ? Result<std::size_t>{count} : more.error();
        if (!ended_) held_.push_back(ahead_[next_++]);
      }
      if (held_.empty()) break;
      const std::size_t pick = below(draw_at(key_, drawn_++), held_.size());
      out[count] = held_[pick];
      held_[pick] = held_.back();
      held_.pop_back();
    }
    return count;
  }

 private:
  /// Afterwards there is an element ahead, or `ended_` is set.
  Result<void> refill() {
    if (next_ < filled_) return {};
    FOREBAY_TRY(filled_, context_.upstream->pull(ahead_));
    next_ = 0;
    ended_ = filled_ == 0;
    return {};
  }

  const std::size_t capacity_;
  OrderContext context_;
  std::vector<Handle> held_;
  std::array<Handle, 256> ahead_;  // what was pulled and is not in the buffer yet
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t drawn_ = 0;
  bool ended_ = false;
  bool fetched_ = false;  // what was collected while a restart caught up has its bytes; later records come with theirs
};

Result<Ordering> bind(const Shuffle& options) {
  if (options.global == options.buffer.has_value())
    return Error{Code::config, Detail::invalid_argument, "give one of `buffer` (elements) and `global` (true)"};
  if (options.global) return Ordering{.make = global_shuffle, .grain = Grain::files_to_records};
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
    return std::make_unique<ShuffleBuffer>(*options.buffer, std::move(context));
  }};
}

}  // namespace

OrderType shuffle() {
  return describe<OrderType, Shuffle>(
             "shuffle", "Puts the elements of a pass into a random order; before `interleave`, the files.", bind)
      .field("buffer", &Shuffle::buffer,
             "Each element is drawn from a buffer of so many that is kept full; 1 keeps the order.",
             {.least = 1, .most = 1'000'000'000})
      .field("global", &Shuffle::global,
             "An exact permutation of all records of all files, in constant memory, by their indexes; instead of "
             "`interleave`.")
      .example({.options = R"({"buffer": 1})", .in = R"([1, 2, 3, 4])", .out = R"([1, 2, 3, 4])"});
}

}  // namespace forebay::orders
