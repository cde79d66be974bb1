// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/take_while.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "expression/tree.h"

namespace forebay::orders {
namespace {

/// Passes on records until the first one whose condition does not hold, and then ends the pass; the rest stays in the
/// upstream. The conditions are an attribute of the records, which the reader knows. The run owns the order; one thread
/// at a time calls it. `pull` repeats the errors of the reader and of the upstream, and fails when an endless run would
/// never deliver anything.
class TakerWhile final : public Handles {
 public:
  TakerWhile(std::string where, OrderContext context) : where_{std::move(where)}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    context_.reader->drop(std::span{ahead_}.first(filled_));
    filled_ = 0;
    ended_ = kept_ = false;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (ended_ || out.empty()) return std::size_t{0};
    if (filled_ == 0) {
      FOREBAY_TRY(filled_, context_.upstream->pull(std::span{ahead_}.first(std::min(out.size(), ahead_.size()))));
    }
    if (filled_ == 0) return end(0);
    const std::span<Handle> ahead = std::span{ahead_}.first(filled_);
    FOREBAY_DO(context_.reader->attributes(context_.first_attribute, ahead, verdicts_));
    const auto first = std::find(verdicts_.begin(), verdicts_.begin() + static_cast<std::ptrdiff_t>(filled_), 0);
    const auto count = static_cast<std::size_t>(first - verdicts_.begin());
    std::ranges::copy(ahead.first(count), out.begin());
    context_.reader->drop(ahead.subspan(count));
    kept_ = kept_ || count > 0;
    const bool whole = count == std::exchange(filled_, 0);
    return whole ? Result<std::size_t>{count} : end(count);
  }

 private:
  // More than one: files may change from pass to pass.
  static constexpr int max_idle_passes = 16;

  /// Ends the pass after `count` more records.
  Result<std::size_t> end(std::size_t count) {
    ended_ = true;
    idle_passes_ = kept_ ? 0 : idle_passes_ + 1;
    if (!context_.endless || idle_passes_ < max_idle_passes) return count;
    return Error{Code::data, Detail::failed_precondition,
                 fmt::format("take_while: in {} passes one after the other {} did not hold for the first record: this "
                             "run would never deliver anything; correct the condition",
                             max_idle_passes, quote(where_))};
  }

  static constexpr std::size_t at_once = 256;  // records
  const std::string where_;
  OrderContext context_;
  std::array<Handle, at_once> ahead_;  // pulled and not judged yet
  std::array<std::int64_t, at_once> verdicts_;
  std::size_t filled_ = 0;
  bool kept_ = false;    // the pass had a record that stays
  bool ended_ = false;   // the pass is over
  int idle_passes_ = 0;  // consecutive passes without a record
};

Result<Ordering> bind(const TakeWhile& options) {
  if (const auto tree = expression::parse(options.where); !tree.ok()) return tree.error().at(Field{"where"});
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<TakerWhile>(options.where, std::move(context));
                  },
                  .grain = Grain::records,
                  .count = [](std::int64_t n) { return n == 0 ? std::optional<std::int64_t>{0} : std::nullopt; },
                  .attributes = {{.expression = options.where, .option = {"where"}, .early = options.early}},
                  .keeps_order = true};
}

}  // namespace

OrderType take_while() {
  return describe<OrderType, TakeWhile>(
             "take_while", "Ends the pass before the first record for which a condition does not hold.", bind)
      .required("where", &TakeWhile::where,
                "Condition, for example `step < 1000`; docs/expressions.md has the grammar.")
      .field("early", &TakeWhile::early,
             "Allows a condition over the output of an expensive step such as `decode_image`, which then runs when the "
             "record is read, and again for its row.")
      .example({.options = R"({"where": "n < 3"})", .in = R"([1, 2, 3, 1])", .out = R"([1, 2])"});
}

}  // namespace forebay::orders
