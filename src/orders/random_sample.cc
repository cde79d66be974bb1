// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/random_sample.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/draw.h"
#include "orders/indexed_walk.h"

namespace forebay::orders {
namespace {

constexpr std::int64_t max_size = std::int64_t{1} << 40;

std::uint64_t key_of_pass(std::uint64_t seed, std::uint64_t purpose, std::int64_t epoch) {
  return draw_key({.seed = seed, .epoch = static_cast<std::uint64_t>(epoch), .purpose = purpose});
}

/// Every place of a pass is a draw of its own from all records.
class Sampled final : public Route {
 public:
  Sampled(std::optional<std::int64_t> size, const OrderContext& context)
      : size_{size}, seed_{context.seed}, purpose_{context.purpose} {}

  void begin(std::int64_t epoch) override { key_ = key_of_pass(seed_, purpose_, epoch); }
  Result<std::int64_t> plan(const Census& census) override {
    records_ = static_cast<std::uint64_t>(census.records());
    return records_ == 0 ? 0 : size_.value_or(census.records());
  }
  void numbers(std::int64_t first, std::span<std::uint64_t> out) override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = below(draw_at(key_, static_cast<std::uint64_t>(first) + i), records_);
  }

 private:
  const std::optional<std::int64_t> size_;
  const std::uint64_t seed_;
  const std::uint64_t purpose_;
  std::uint64_t key_ = 0;
  std::uint64_t records_ = 0;
};

/// Draws from a buffer of the elements before it.
///
///     upstream ─► held_: fills to capacity_ ─► a draw: one of them goes out, and stays ─► out
///                   ▲                              │ then the next element takes the place of one that is drawn apart
///                   └──────────────────────────────┘ and that one goes; without a next element all stay
///
/// The run owns the order; one thread at a time calls it. `pull` fails when the upstream, the reader or the budget
/// does.
class SampleBuffer final : public Handles {
 public:
  SampleBuffer(const RandomSample& options, OrderContext context)
      : capacity_{static_cast<std::size_t>(*options.buffer)}, size_{options.size}, context_{std::move(context)} {
    if (context_.gauge != nullptr) context_.gauge->name = "random_sample", context_.gauge->capacity = *options.buffer;
  }

  void begin(std::int64_t epoch) override {
    context_.reader->drop(held_);
    held_.clear();
    drawn_ = pulled_ = 0;
    replaces_ = ended_ = fetched_ = false;
    key_ = key_of_pass(context_.seed, context_.purpose, epoch);
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    // Handles that a restart collected have no bytes yet; later ones always have theirs.
    if (!fetched_) {
      FOREBAY_TRY(fetched_, context_.reader->fetch(held_));
    }
    std::size_t count = 0;
    while (count < out.size() && !over()) {
      if (auto more = prepare(); !more.ok()) return count > 0 ? Result<std::size_t>{count} : more.error();
      if (over() || held_.empty()) break;
      out[count] = held_[below(draw_at(key_, 2 * drawn_), held_.size())];
      context_.reader->hold(out.subspan(count, 1));
      ++count;
      ++drawn_;
      replaces_ = true;
    }
    if (over()) context_.reader->drop(std::exchange(held_, {}));
    if (context_.gauge != nullptr) context_.gauge->held = std::ssize(held_);
    return count;
  }

 private:
  /// Whether all draws of the pass are done. Without `size` they are as many as the elements.
  [[nodiscard]] bool over() const {
    if (size_) return drawn_ >= static_cast<std::uint64_t>(*size_);
    return ended_ && drawn_ >= pulled_;
  }

  /// Fills the buffer, and replaces an element after a draw. A failed call goes on with the next.
  Result<void> prepare() {
    while (!ended_ && (replaces_ || held_.size() < capacity_)) {
      Handle next;
      FOREBAY_DO(make_room());
      FOREBAY_TRY(const std::size_t some, context_.upstream->pull({&next, 1}));
      ended_ = some == 0;
      if (ended_) break;
      ++pulled_;
      if (held_.size() < capacity_) {
        held_.push_back(next);
        continue;
      }
      Handle& place = held_[below(draw_at(key_, 2 * drawn_ - 1), held_.size())];
      context_.reader->drop({&place, 1});
      place = next;
      replaces_ = false;
    }
    replaces_ = false;
    return {};
  }

  /// Doubles the room of the buffer when it is full. Fails when the budget has no room.
  Result<void> make_room() {
    if (held_.size() < held_.capacity() || held_.size() == capacity_) return {};
    const std::size_t room = std::min(capacity_, std::max<std::size_t>(1024, 2 * held_.capacity()));
    FOREBAY_TRY(auto charge, context_.reader->charge(static_cast<std::int64_t>(room * sizeof(Handle)))
                                 .at("a sample buffer with room for " + std::to_string(room) + " elements"));
    held_.reserve(room);
    charge_ = std::move(charge);
    return {};
  }

  const std::size_t capacity_;
  const std::optional<std::int64_t> size_;
  OrderContext context_;
  std::shared_ptr<void> charge_;  // of the room of held_, to the budget
  std::vector<Handle> held_;
  std::uint64_t key_ = 0;
  std::uint64_t drawn_ = 0;   // elements given in this pass
  std::uint64_t pulled_ = 0;  // elements of the upstream in this pass
  bool replaces_ = false;     // an element was given, and none has taken a place since
  bool ended_ = false;        // the upstream has ended
  bool fetched_ = false;
};

Result<Ordering> bind(const RandomSample& options) {
  Ordering out;
  out.repeats = true;
  out.count = [options](std::int64_t n) -> std::optional<std::int64_t> {
    return n == 0 ? 0 : options.size.value_or(n);
  };
  if (options.buffer) {
    out.grain = Grain::records;
    out.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
      return std::make_unique<SampleBuffer>(options, std::move(context));
    };
    return out;
  }
  out.grain = Grain::files_to_records;
  out.random_access = true;
  out.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
    auto route = std::make_unique<Sampled>(options.size, context);
    return walk_by_index(std::move(route), std::move(context));
  };
  return out;
}

}  // namespace

OrderType random_sample() {
  return describe<OrderType, RandomSample>(
             "random_sample", "Draws records with replacement: a record may come several times in a pass, or never.",
             bind)
      .field("size", &RandomSample::size, "Draws of a pass; null: as many as there are records.",
             {.min = 0, .max = max_size})
      .field("buffer", &RandomSample::buffer,
             "Draws from a buffer of so many elements, through which the stream goes; null: from all records, by their "
             "indexes, instead of `interleave`.",
             {.min = 1, .max = 1'000'000'000})
      .example({.options = R"({"size": 2})", .in = R"([7])", .out = R"([7, 7])"})
      .example({.options = R"({"buffer": 4})", .in = R"([7, 7, 7])", .out = R"([7, 7, 7])"});
}

}  // namespace forebay::orders
