// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/repeat.h>
#include <forebay/plugin.h>

#include <cstdint>
#include <string>

namespace forebay::orders {
namespace {

/// Joins several passes of its upstream into one pass. With a count, pass `e` consists of the upstream's passes
/// e * count to e * count + count - 1. Without one, the first pass ends only after more than 1000 empty passes in a
/// row, and a later one after more than 10. The run owns the order; one thread at a time calls it. `pull` fails when
/// the number of upstream passes exceeds 2^63 - 1.
class Repeater final : public Handles {
 public:
  Repeater(const Repeat& options, OrderContext context) : count_{options.count}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    first_ = epoch;
    uncountable_ = count_ && (__builtin_mul_overflow(epoch, *count_, &first_) || first_ > INT64_MAX - *count_);
    done_ = 0;
    empty_passes_ = 0;
    max_empty_passes_ = epoch == 0 ? max_empty_passes : max_empty_passes_later;
    if (uncountable_) return;
    if (!over()) context_.upstream->begin(first_);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (uncountable_) {
      return Error{Code::config, Detail::invalid_argument,
                   "repeat: " + std::to_string(*count_) +
                       " rounds a pass have by now been more than 2^63 altogether; lower `count`, or begin a new run"};
    }
    while (!over()) {
      FOREBAY_TRY(const std::size_t count, context_.upstream->pull(out));
      if (count > 0) return empty_passes_ = 0, count;
      // Without this limit an empty source would loop for ever.
      if (++empty_passes_ > max_empty_passes_ && !count_) return std::size_t{0};
      ++done_;
      if (!over()) context_.upstream->begin(first_ + done_);
    }
    return std::size_t{0};
  }

  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override {
    if (uncountable_ || over()) return Handles::skip(n, reader);
    FOREBAY_TRY(const std::int64_t count, context_.upstream->skip(n, reader));
    if (count == 0) return Handles::skip(n, reader);  // begins the upstream's next pass
    empty_passes_ = 0;
    return count;
  }

 private:
  static constexpr int max_empty_passes = 1000;
  // An endless run over nothing ends after 1000 passes without a record. So later passes give up sooner.
  static constexpr int max_empty_passes_later = 10;

  [[nodiscard]] bool over() const { return count_ && done_ >= *count_; }

  const std::optional<std::int64_t> count_;
  OrderContext context_;
  std::int64_t first_ = 0;
  std::int64_t done_ = 0;
  int empty_passes_ = 0;  // consecutive ones of the upstream in this pass
  int max_empty_passes_ = max_empty_passes;
  bool uncountable_ = false;  // the upstream's epoch exceeds 2^63 - 1
};

Result<Ordering> bind(const Repeat& options) {
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<Repeater>(options, std::move(context));
                  },
                  .repeats = true,
                  .count = [options](std::int64_t n) -> std::optional<std::int64_t> {
                    if (!options.count) return std::nullopt;
                    std::int64_t all = 0;
                    if (__builtin_mul_overflow(n, *options.count, &all)) return std::nullopt;
                    return all;
                  }};
}

}  // namespace

OrderType repeat() {
  return describe<OrderType, Repeat>("repeat",
                                     "Goes through everything before it several times, newly shuffled each time.", bind)
      .field("count", &Repeat::count, "Passes; null: for ever.", {.min = 0, .max = 1'000'000'000})
      .example({.options = R"({"count": 2})", .in = R"([1, 2, 3])", .out = R"([1, 2, 3, 1, 2, 3])"});
}

}  // namespace forebay::orders
