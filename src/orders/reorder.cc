// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/reorder.h>
#include <forebay/plugin.h>

#include <array>
#include <utility>

#include "orders/indexed_walk.h"

namespace forebay::orders {
namespace {

/// The order that a function of the program gives for each pass.
class Asked final : public Route {
 public:
  Asked(Ask ask, std::string name, Reader& reader) : ask_{std::move(ask)}, name_{std::move(name)}, reader_{reader} {}

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    order_.clear();
    charge_.reset();
  }

  Result<std::int64_t> plan(std::int64_t records) override {
    FOREBAY_TRY(Function::Integers order, ask_(std::array{epoch_, records}));
    const std::string told = "the order of epoch " + std::to_string(epoch_) + " that function '" + name_ + "' gives";
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] >= 0 && order[i] < records) continue;
      return Error{Code::data, Detail::invalid_argument,
                   told + ": item " + std::to_string(i) + " is " + std::to_string(order[i]) + ", and there are " +
                       std::to_string(records) + " records, numbered from 0"};
    }
    FOREBAY_TRY(charge_, reader_.charge(static_cast<std::int64_t>(order.size() * sizeof(std::int64_t))).at(told));
    order_ = std::move(order);
    return static_cast<std::int64_t>(order_.size());
  }

  void numbers(std::int64_t first, std::span<std::uint64_t> out) override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::uint64_t>(order_[static_cast<std::size_t>(first) + i]);
  }

 private:
  const Ask ask_;
  const std::string name_;
  Reader& reader_;
  std::int64_t epoch_ = 0;
  Function::Integers order_;
  std::shared_ptr<void> charge_;  // of order_
};

Result<Ordering> bind(const Reorder& options) {
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    auto route = std::make_unique<Asked>(context.ask, options.bind, *context.reader);
                    return walk_by_index(std::move(route), std::move(context));
                  },
                  .grain = Grain::files_to_records,
                  .repeats = true,
                  .random_access = true,
                  .count = [](std::int64_t n) -> std::optional<std::int64_t> {
                    if (n == 0) return 0;
                    return std::nullopt;
                  },
                  .asks = AskedFunction{.name = options.bind, .option = {"bind"}}};
}

}  // namespace

OrderType reorder() {
  return describe<OrderType, Reorder>(
             "reorder",
             "Gives the records of all files in the order that a function of the program says for each epoch.", bind)
      .required("bind", &Reorder::bind,
                "Name of the function that the program binds. It is asked with (epoch, number of records), and answers "
                "with the numbers of records to give, from 0 on, in any order and any number of times.");
}

}  // namespace forebay::orders
