// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/shuffle.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/draw.h"
#include "orders/global_shuffle.h"

namespace forebay::orders {
namespace {

/// A shuffle buffer: each output is drawn uniformly from the buffer, and the next input takes its place. The buffer
/// holds handles only, 16 bytes a record, and charges them to the budget.
///
///     upstream ─► ahead_ (256) ─► held_: fills to capacity_, is exchanged one for one, drains at the end ─► out
///
/// It pulls no more than fill the buffer and make room in it for `out`: the next pass of a mixture goes on behind the
/// elements that were pulled.
///
/// The run owns the order; one thread at a time calls it. `pull` fails when the upstream, the reader or the budget
/// does.
class ShuffleBuffer final : public Handles {
 public:
  ShuffleBuffer(std::int64_t capacity, OrderContext context)
      : capacity_{static_cast<std::size_t>(capacity)}, context_{std::move(context)} {
    if (context_.gauge == nullptr) return;
    context_.gauge->name = "shuffle";
    context_.gauge->capacity = capacity;
  }

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
    while (count < out.size()) {
      if (const std::size_t drawn = exchange(out.subspan(count)); drawn > 0) {
        count += drawn;
        continue;
      }
      // At the start of a pass this loop fills the buffer; later it adds one element.
      while (held_.size() < capacity_ && !ended_) {
        if (auto more = refill(out.size() - count); !more.ok())
          return count > 0 ? Result<std::size_t>{count} : more.error();
        if (ended_) break;
        if (held_.size() == held_.capacity()) {
          if (auto room = grow(); !room.ok()) return count > 0 ? Result<std::size_t>{count} : room.error();
        }
        held_.push_back(ahead_[next_++]);
      }
      if (held_.empty()) break;
      const std::size_t pick = below(draw_at(key_, drawn_++), held_.size());
      out[count++] = held_[pick];
      held_[pick] = held_.back();
      held_.pop_back();
    }
    if (context_.gauge != nullptr) context_.gauge->held = std::ssize(held_);
    return count;
  }

 private:
  /// Draws up to 64 elements at once and returns their number, with the same result as the loop of `pull`. Works only
  /// when the buffer is one element short of full and elements are ahead; else returns 0. All places are drawn first,
  /// so that the processor loads those of a large buffer in parallel.
  std::size_t exchange(std::span<Handle> out) {
    if (held_.size() + 1 != capacity_) return 0;
    const std::size_t count = std::min({out.size(), filled_ - next_, picks_.size()});
    for (std::size_t i = 0; i < count; ++i) {
      picks_[i] = static_cast<std::uint32_t>(below(draw_at(key_, drawn_ + i), capacity_));
      __builtin_prefetch(held_.data() + picks_[i], 1);
    }
    drawn_ += count;
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = ahead_[next_++];
      if (picks_[i] < held_.size()) std::swap(out[i], held_[picks_[i]]);
    }
    return count;
  }

  /// Pulls from the upstream when no element is ahead, for `wanted` > 0 outputs. Afterwards an element is ahead, or
  /// `ended_` is set.
  Result<void> refill(std::size_t wanted) {
    if (next_ < filled_) return {};
    const std::size_t missing = capacity_ - held_.size() + (wanted - 1);
    FOREBAY_TRY(filled_, context_.upstream->pull(std::span{ahead_}.first(std::min(missing, ahead_.size()))));
    next_ = 0;
    ended_ = filled_ == 0;
    return {};
  }

  /// Doubles the room of the buffer, up to its capacity. Fails when the budget has no room.
  Result<void> grow() {
    const std::size_t room = std::min(capacity_, std::max(min_room, 2 * held_.capacity()));
    std::shared_ptr<void> charge;
    if (context_.reader != nullptr) {
      FOREBAY_TRY(charge, context_.reader->charge(static_cast<std::int64_t>(room * sizeof(Handle)))
                              .at("a shuffle buffer with room for " + std::to_string(room) + " records"));
    }
    held_.reserve(room);
    charge_ = std::move(charge);
    return {};
  }

  static constexpr std::size_t min_room = 1024;
  const std::size_t capacity_;
  OrderContext context_;
  std::shared_ptr<void> charge_;  // of the room of held_, to the budget
  std::vector<Handle> held_;
  std::array<std::uint32_t, 64> picks_;
  std::array<Handle, 256> ahead_;  // pulled and not in the buffer yet
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t drawn_ = 0;
  bool ended_ = false;
  bool fetched_ = false;  // the handles that a restart collected have their bytes; later handles always have theirs
};

Result<Ordering> bind(const Shuffle& options) {
  if (options.global == options.buffer.has_value())
    return Error{Code::config, Detail::invalid_argument, "give one of `buffer` (elements) and `global` (true)"};
  if (options.global)
    return Ordering{.make = global_shuffle,
                    .grain = Grain::files_to_records,
                    .random_access = true,
                    .place = place_in_global_shuffle};
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
             {.min = 1, .max = 1'000'000'000})
      .field("global", &Shuffle::global,
             "An exact permutation of all records of all files, in constant memory, by their indexes; instead of "
             "`interleave`.")
      .example({.options = R"({"buffer": 1})", .in = R"([1, 2, 3, 4])", .out = R"([1, 2, 3, 4])"});
}

}  // namespace forebay::orders
