// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/batch_slice.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <limits>

namespace forebay::orders {
namespace {

constexpr std::int64_t max_batch = std::numeric_limits<std::int64_t>::max();

/// The numbers of the batches that are delivered: start, start + step, … below stop.
struct BatchNumbers {
  std::int64_t start = 0, stop = max_batch, step = 1;

  [[nodiscard]] bool has(std::int64_t number) const {
    return number >= start && number < stop && (number - start) % step == 0;
  }
  /// How many of them are below n.
  [[nodiscard]] std::int64_t count(std::int64_t n) const {
    const std::int64_t end = std::min(n, stop);
    return end <= start ? 0 : (end - start - 1) / step + 1;
  }
};

Error bad_slice(const std::string& option, const std::string& message) {
  return Error{Code::config, Detail::invalid_argument, message}.at(Field{option});
}

Result<BatchNumbers> numbers_of(const BatchSlice& options) {
  if (!options.index && !options.count)
    return BatchNumbers{options.start, options.stop.value_or(max_batch), options.step};
  if (!options.index || !options.count)
    return bad_slice(options.index ? "index" : "count",
                     "give `index` and `count` together: batch index, index + count, …");
  if (options.start != 0 || options.stop || options.step != 1)
    return bad_slice("index", "give `index` and `count`, or `start`, `stop` and `step`, not both");
  if (*options.index >= *options.count)
    return bad_slice("index", "must be less than `count`, " + std::to_string(*options.count) + "; found " +
                                  std::to_string(*options.index));
  return BatchNumbers{*options.index, max_batch, *options.count};
}

Result<Ordering> bind(const BatchSlice& options) {
  FOREBAY_TRY(const BatchNumbers numbers, numbers_of(options));
  BatchOrdering batches{.block = 1, .pick = [numbers](const BatchBlock& block, std::vector<std::int64_t>& out) {
                          for (std::int64_t i = 0; i < block.count; ++i) {
                            if (numbers.has(block.first + i)) out.push_back(i);
                          }
                        }};
  if (numbers.stop != max_batch) batches.stop = numbers.stop;
  return Ordering{.make = {},
                  .grain = Grain::batches,
                  .count = [numbers](std::int64_t n) -> std::optional<std::int64_t> { return numbers.count(n); },
                  .batches = std::move(batches)};
}

}  // namespace

OrderType batch_slice() {
  return describe<OrderType, BatchSlice>(
             "batch_slice", "Delivers some of the batches by their number; the others are cut and not made.", bind)
      .field("start", &BatchSlice::start, "Number of the first batch that is delivered.", {.min = 0})
      .field("stop", &BatchSlice::stop, "Batches from this number on are left out; null: none.", {.min = 0})
      .field("step", &BatchSlice::step, "Delivers every so many-th batch.", {.min = 1})
      .field("index", &BatchSlice::index, "With `count`, instead of the others: batches index, index + count, ….",
             {.min = 0})
      .field("count", &BatchSlice::count, "See `index`: the slices 0 to count - 1 have each batch once.", {.min = 1})
      .example({.options = R"({"start": 1, "stop": 4})", .in = R"([1, 2, 3, 4, 5])", .out = R"([2, 3, 4])"})
      .example({.options = R"({"index": 1, "count": 2})", .in = R"([1, 2, 3, 4, 5])", .out = R"([2, 4])"});
}

}  // namespace forebay::orders
