// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/sorted.h>
#include <forebay/plugin.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "expression/tree.h"
#include "orders/attribute_reading.h"
#include "orders/indexed_walk.h"
#include "orders/radix_sort.h"

namespace forebay::orders {
namespace {

/// All records of a pass, sorted by an attribute. Holds their numbers.
///
///     census ─► keys_: an attribute of each record ─► sort ─► places_
class SortedRoute final : public Route {
 public:
  SortedRoute(bool descending, const OrderContext& context)
      : descending_{descending}, attribute_{context.first_attribute}, reader_{*context.reader} {}

  void begin(std::int64_t) override {
    keys_.clear();
    places_.clear();
    charge_.reset();
  }

  Result<std::int64_t> plan(const Census& census) override {
    if (!charge_) FOREBAY_DO(take_memory(census.records()));
    const auto key = [this](std::int64_t value, std::int64_t place) {
      return Key{descending_ ? ~ascending_key(value) : ascending_key(value), static_cast<std::uint32_t>(place)};
    };
    FOREBAY_DO(read_attribute(reader_, census, attribute_, key, keys_));
    RadixSort<std::uint64_t>::sort(keys_);
    places_.clear();
    places_.reserve(keys_.size());
    for (const Key& sorted : keys_) places_.push_back(sorted.place);
    std::vector<Key>{}.swap(keys_);
    FOREBAY_TRY(charge_, reader_.charge(std::ssize(places_) * std::int64_t{sizeof(std::uint32_t)}));
    return std::ssize(places_);
  }

  void numbers(std::int64_t first, std::span<std::uint64_t> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = places_[static_cast<std::size_t>(first) + i];
  }

 private:
  using Key = SortKey<std::uint64_t>;

  Result<void> take_memory(std::int64_t records) {
    if (records > std::int64_t{UINT32_MAX}) {
      return Error{Code::data, Detail::resource_exhausted,
                   "sorted: there are " + std::to_string(records) + " records, at most " + std::to_string(UINT32_MAX) +
                       " can be sorted"};
    }
    const auto bytes = records * static_cast<std::int64_t>(2 * sizeof(Key));
    FOREBAY_TRY(charge_, reader_.charge(bytes).at("the keys of " + std::to_string(records) + " records"));
    keys_.reserve(static_cast<std::size_t>(records));
    return {};
  }

  const bool descending_;
  const std::size_t attribute_;
  Reader& reader_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> places_;  // numbers of records in their order
  std::shared_ptr<void> charge_;       // of keys_ or places_, to the budget
};

Result<Ordering> bind(const Sorted& options) {
  if (const auto tree = expression::parse(options.by); !tree.ok()) return tree.error().at(Field{"by"});
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    auto route = std::make_unique<SortedRoute>(options.descending, context);
                    return walk_by_index(std::move(route), std::move(context));
                  },
                  .grain = Grain::files_to_records,
                  .random_access = true,
                  .attributes = {{.expression = options.by, .kind = AttributeKind::integer, .option = {"by"}}}};
}

}  // namespace

OrderType sorted() {
  return describe<OrderType, Sorted>(
             "sorted",
             "Puts all records of all files in the order of an integer, by their indexes; instead of `interleave`.",
             bind)
      .required("by", &Sorted::by, "The integer, for example `length(tokens)`; docs/expressions.md has the grammar.")
      .field("descending", &Sorted::descending,
             "The largest numbers come first. Equal ones stay in the order of the files.")
      .example({.options = R"({"by": "-n"})", .in = R"([1, 3, 2])", .out = R"([3, 2, 1])"});
}

}  // namespace forebay::orders
