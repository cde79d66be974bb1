// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/laplace.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "expression/tree.h"
#include "orders/radix_sort.h"

namespace forebay::orders {
namespace {

/// Sorts buffers of a stream by an attribute, up and down in turn.
///
///     upstream ─► held_: fills to capacity_ ─► sort: up, then down, then up … ─► out, until held_ is used up
///
/// The run owns the order; one thread at a time calls it. `pull` fails when the upstream, the reader or the budget
/// does; a failed call loses nothing.
class LaplaceBuffer final : public Handles {
 public:
  LaplaceBuffer(std::int64_t capacity, OrderContext context)
      : capacity_{static_cast<std::size_t>(capacity)}, context_{std::move(context)} {
    if (context_.gauge != nullptr) context_.gauge->name = "laplace", context_.gauge->capacity = capacity;
  }

  void begin(std::int64_t epoch) override {
    context_.reader->drop(std::span{held_}.subspan(next_));
    held_.clear();
    next_ = 0;
    sorted_ = descending_ = ended_ = fetched_ = false;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (sorted_ && next_ == held_.size()) turn();
    if (!sorted_) FOREBAY_DO(fill());
    if (!sorted_) FOREBAY_DO(sort());
    if (!fetched_) {
      FOREBAY_TRY(fetched_, context_.reader->fetch(std::span{held_}.subspan(next_)));
    }
    const std::size_t count = std::min(out.size(), held_.size() - next_);
    std::copy_n(held_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
    next_ += count;
    if (context_.gauge != nullptr) context_.gauge->held = std::ssize(held_) - static_cast<std::int64_t>(next_);
    return count;
  }

 private:
  using Key = SortKey<std::uint64_t>;
  static constexpr std::size_t at_once = 256;  // elements of one `pull` of the upstream

  /// Begins the next buffer, in the other direction. At the end of the pass the used-up one stays.
  void turn() {
    if (ended_) return;
    held_.clear();
    next_ = 0;
    sorted_ = false;
    descending_ = !descending_;
  }

  Result<void> fill() {
    while (held_.size() < capacity_ && !ended_) {
      FOREBAY_DO(make_room());
      const std::size_t before = held_.size();
      held_.resize(std::min({held_.capacity(), capacity_, before + at_once}));
      const auto count = context_.upstream->pull(std::span{held_}.subspan(before));
      held_.resize(before + (count.ok() ? *count : 0));
      FOREBAY_DO(count);
      ended_ = *count == 0;
    }
    return {};
  }

  Result<void> sort() {
    std::vector<std::int64_t> values(held_.size());
    FOREBAY_DO(context_.reader->attributes(context_.first_attribute, held_, values));
    std::vector<Key> keys;
    keys.reserve(held_.size());
    for (const std::int64_t value : values) {
      const std::uint64_t key = ascending_key(value);
      keys.push_back({descending_ ? ~key : key, static_cast<std::uint32_t>(keys.size())});
    }
    RadixSort<std::uint64_t>::sort(keys);
    std::vector<Handle> sorted;
    sorted.reserve(held_.capacity());
    for (const Key& key : keys) sorted.push_back(held_[key.place]);
    held_.swap(sorted);
    sorted_ = true;
    return {};
  }

  /// Doubles the room of the buffer when it is full. Fails when the budget has no room.
  Result<void> make_room() {
    if (held_.size() < held_.capacity()) return {};
    constexpr std::size_t bytes = 2 * sizeof(Handle) + sizeof(std::int64_t) + 2 * sizeof(Key);
    const std::size_t room = std::min(capacity_, std::max<std::size_t>(1024, 2 * held_.capacity()));
    FOREBAY_TRY(auto charge, context_.reader->charge(static_cast<std::int64_t>(room * bytes))
                                 .at("a buffer with room for " + std::to_string(room) + " elements to sort"));
    held_.reserve(room);
    charge_ = std::move(charge);
    return {};
  }

  const std::size_t capacity_;
  OrderContext context_;
  std::shared_ptr<void> charge_;  // of held_ and of sorting it, to the budget
  std::vector<Handle> held_;
  std::size_t next_ = 0;     // index in held_
  bool sorted_ = false;      // held_ is complete and in its order
  bool descending_ = false;  // this buffer goes down
  bool ended_ = false;       // the upstream has ended
  bool fetched_ = false;     // the handles that a restart collected have their bytes; later ones always have theirs
};

Result<Ordering> bind(const Laplace& options) {
  if (const auto tree = expression::parse(options.by); !tree.ok()) return tree.error().at(Field{"by"});
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<LaplaceBuffer>(options.buffer, std::move(context));
                  },
                  .grain = Grain::records,
                  .attributes = {{.expression = options.by, .kind = AttributeKind::integer, .option = {"by"}}}};
}

}  // namespace

OrderType laplace() {
  return describe<OrderType, Laplace>(
             "laplace", "Sorts buffers of the stream by an integer, up and down in turn; comes after `interleave`.",
             bind)
      .required("buffer", &Laplace::buffer, "Elements that are sorted together. The last ones may be fewer.",
                {.min = 1, .max = 1'000'000'000})
      .required("by", &Laplace::by,
                "The integer, for example `length(tokens)`; after window steps it may be the length of a window.")
      .example({.options = R"({"buffer": 3, "by": "n"})",
                .in = R"([5, 1, 4, 2, 3, 6, 2, 7])",
                .out = R"([1, 4, 5, 6, 3, 2, 2, 7])"});
}

}  // namespace forebay::orders
