// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/take.h>
#include <forebay/plugin.h>

#include <algorithm>

#include "orders/bounds.h"

namespace forebay::orders {
namespace {

/// Passes on the first elements of a pass and then ends it; the rest stays in the upstream. The run owns the order; one
/// thread at a time calls it.
class Taker final : public Handles {
 public:
  Taker(std::int64_t count, OrderContext context) : count_{count}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    left_ = count_;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    const std::size_t max = std::min(out.size(), static_cast<std::size_t>(left_));
    if (max == 0) return std::size_t{0};
    FOREBAY_TRY(const std::size_t count, context_.upstream->pull(out.first(max)));
    left_ -= static_cast<std::int64_t>(count);
    return count;
  }

  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override {
    if (left_ == 0) return std::int64_t{0};
    FOREBAY_TRY(const std::int64_t count, context_.upstream->skip(std::min(n, left_), reader));
    left_ -= count;
    return count;
  }

 private:
  const std::int64_t count_;
  std::int64_t left_ = 0;
  OrderContext context_;
};

Result<Ordering> bind(const Take& options) {
  Ordering out = first_elements(options.count);
  out.counts_rows = true;
  return out;
}

}  // namespace

Ordering first_elements(std::int64_t count) {
  return {.make = [count](OrderContext context) -> std::unique_ptr<Handles> {
            return std::make_unique<Taker>(count, std::move(context));
          },
          .count = [count](std::int64_t n) -> std::optional<std::int64_t> { return std::min(n, count); },
          .keeps_order = true};
}

OrderType take() {
  return describe<OrderType, Take>("take", "Ends after the first `count` rows of a pass; `take_files` counts files.",
                                   bind)
      .required("count", &Take::count, "Rows to keep.", {.min = 0})
      .example({.options = R"({"count": 2})", .in = R"([1, 2, 3])", .out = R"([1, 2])"});
}

}  // namespace forebay::orders
