// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/repeat.h>
#include <forebay/plugin.h>

namespace forebay::orders {
namespace {

class Repeater final : public Handles {
 public:
  Repeater(const Repeat& options, OrderContext context) : count_{options.count}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    first_ = count_ ? epoch * *count_ : epoch;
    done_ = 0;
    if (!over()) context_.upstream->begin(first_);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    while (!over()) {
      FOREBAY_TRY(const std::size_t count, context_.upstream->pull(out));
      if (count > 0) return empty_passes_ = 0, count;
      // A source without a single element would go round for ever.
      if (++empty_passes_ > most_empty_passes && !count_) return std::size_t{0};
      ++done_;
      if (!over()) context_.upstream->begin(first_ + done_);
    }
    return std::size_t{0};
  }

 private:
  static constexpr int most_empty_passes = 1000;

  [[nodiscard]] bool over() const { return count_ && done_ >= *count_; }

  const std::optional<std::int64_t> count_;
  OrderContext context_;
  std::int64_t first_ = 0;
  std::int64_t done_ = 0;
  int empty_passes_ = 0;
};

Result<Ordering> bind(const Repeat& options) {
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<Repeater>(options, std::move(context));
                  },
                  .count = [options](std::int64_t n) -> std::optional<std::int64_t> {
                    if (!options.count) return std::nullopt;
                    return n * *options.count;
                  }};
}

}  // namespace

OrderType repeat() {
  return describe<OrderType, Repeat>("repeat",
                                     "Goes through everything before it several times, newly shuffled each time.", bind)
      .field("count", &Repeat::count, "Passes; null: for ever.", {.least = 0, .most = 1'000'000'000})
      .example({.options = R"({"count": 2})", .in = R"([1, 2, 3])", .out = R"([1, 2, 3, 1, 2, 3])"});
}

}  // namespace forebay::orders
