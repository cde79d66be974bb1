// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/skip.h>
#include <forebay/plugin.h>

#include <algorithm>

#include "orders/bounds.h"

namespace forebay::orders {
namespace {

/// Pulls and drops the first elements of a pass, then passes on the rest. The run owns the order; one thread at a time
/// calls it. A failed `pull` continues to skip where it was.
class Skipper final : public Handles {
 public:
  Skipper(std::int64_t count, OrderContext context) : count_{count}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    left_ = count_;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    while (left_ > 0) {
      FOREBAY_TRY(const std::int64_t count, pass_over(out));
      if (count == 0) return std::size_t{0};
      left_ -= count;
    }
    return context_.upstream->pull(out);
  }

  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override {
    while (left_ > 0) {
      FOREBAY_TRY(const std::int64_t count, context_.upstream->skip(left_, reader));
      if (count == 0) return std::int64_t{0};
      left_ -= count;
    }
    return context_.upstream->skip(n, reader);
  }

 private:
  /// Passes over some of the elements to leave out and returns their number. Files have no reader and are pulled.
  Result<std::int64_t> pass_over(std::span<Handle> room) {
    if (context_.reader != nullptr) return context_.upstream->skip(left_, *context_.reader);
    const std::size_t max = std::min(room.size(), static_cast<std::size_t>(left_));
    FOREBAY_TRY(const std::size_t count, context_.upstream->pull(room.first(max)));
    return static_cast<std::int64_t>(count);
  }

  const std::int64_t count_;
  std::int64_t left_ = 0;
  OrderContext context_;
};

Result<Ordering> bind(const Skip& options) {
  Ordering out = all_but_first(options.count);
  out.counts_rows = true;
  return out;
}

}  // namespace

Ordering all_but_first(std::int64_t count) {
  return {.make = [count](OrderContext context) -> std::unique_ptr<Handles> {
            return std::make_unique<Skipper>(count, std::move(context));
          },
          .count = [count](std::int64_t n) -> std::optional<std::int64_t> { return n - std::min(n, count); },
          .keeps_order = true};
}

OrderType skip() {
  return describe<OrderType, Skip>("skip", "Leaves out the first `count` rows of a pass; `skip_files` counts files.",
                                   bind)
      .required("count", &Skip::count, "Rows to leave out.", {.min = 0})
      .example({.options = R"({"count": 2})", .in = R"([1, 2, 3])", .out = R"([3])"});
}

}  // namespace forebay::orders
