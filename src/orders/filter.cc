// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/filter.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "expression/tree.h"

#include <forebay/messages.h>

namespace forebay::orders {
namespace {

/// Passes on the records whose condition holds and drops the others. The conditions are an attribute of the records,
/// which the reader knows.
///
///     upstream ─► ahead_ (256) ─► judge: the reader's attribute ─► refused: dropped │ kept ─► out
///
/// The run owns the order; one thread at a time calls it. `pull` repeats the errors of the reader and of the upstream,
/// and fails when an endless run would never deliver anything.
class Sieve final : public Handles {
 public:
  Sieve(std::string where, OrderContext context) : where_{std::move(where)}, context_{std::move(context)} {}

  void begin(std::int64_t epoch) override {
    context_.reader->drop(std::span{ahead_}.subspan(next_, filled_ - next_));
    next_ = filled_ = 0;
    judged_ = true;
    seen_ = kept_ = false;
    ended_ = false;
    context_.upstream->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    while (true) {
      if (next_ == filled_) FOREBAY_DO(refill(out.size()));
      if (!judged_) FOREBAY_DO(judge());
      const std::size_t count = std::min(out.size(), filled_ - next_);
      std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
      next_ += count;
      if (count > 0 || ended_) return count;
    }
  }

 private:
  // More than one: files may change from pass to pass.
  static constexpr int max_idle_passes = 16;

  /// Pulls at most `wanted` records, so that no more are read than the caller asks for.
  Result<void> refill(std::size_t wanted) {
    FOREBAY_TRY(filled_, context_.upstream->pull(std::span{ahead_}.first(std::min(wanted, ahead_.size()))));
    next_ = 0;
    judged_ = filled_ == 0;
    seen_ = seen_ || filled_ > 0;
    if (filled_ > 0) return {};
    if (!std::exchange(ended_, true)) idle_passes_ = seen_ && !kept_ ? idle_passes_ + 1 : 0;
    if (!context_.endless || idle_passes_ < max_idle_passes) return {};
    return Error{Code::data, Detail::failed_precondition,
                 "filter: " + std::to_string(max_idle_passes) + " passes one after the other had no record for which " +
                     quote(where_) + " holds: this run would never deliver anything; correct the condition"};
  }

  /// Drops the records ahead whose condition does not hold. A failure changes nothing.
  Result<void> judge() {
    const std::span<Handle> ahead = std::span{ahead_}.first(filled_);
    FOREBAY_DO(context_.reader->attributes(context_.first_attribute, ahead, verdicts_));
    std::size_t kept = 0, refused = 0;
    for (std::size_t i = 0; i < filled_; ++i) {
      Handle& place = verdicts_[i] != 0 ? ahead_[kept++] : refused_[refused++];
      place = ahead_[i];
    }
    context_.reader->drop(std::span{refused_}.first(refused));
    filled_ = kept;
    kept_ = kept_ || kept > 0;
    judged_ = true;
    return {};
  }

  static constexpr std::size_t at_once = 256;  // records
  const std::string where_;
  OrderContext context_;
  std::array<Handle, at_once> ahead_;  // pulled and not handed out yet
  std::array<Handle, at_once> refused_;
  std::array<std::int64_t, at_once> verdicts_;
  std::size_t next_ = 0;  // index in ahead_
  std::size_t filled_ = 0;
  bool judged_ = true;   // the records ahead are those that stay
  bool seen_ = false;    // the pass had a record
  bool kept_ = false;    // and one that stays
  bool ended_ = false;   // the upstream's pass is over
  int idle_passes_ = 0;  // consecutive passes that had records, of which none stayed
};

Result<Ordering> bind(const Filter& options) {
  if (const auto tree = expression::parse(options.where); !tree.ok()) return tree.error().at(Field{"where"});
  return Ordering{.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
                    return std::make_unique<Sieve>(options.where, std::move(context));
                  },
                  .grain = Grain::records,
                  .count = [](std::int64_t n) { return n == 0 ? std::optional<std::int64_t>{0} : std::nullopt; },
                  .attributes = {{.expression = options.where, .option = {"where"}, .early = options.early}},
                  .selects = true,
                  .keeps_order = true};
}

}  // namespace

OrderType filter() {
  return describe<OrderType, Filter>(
             "filter", "Keeps the records for which a condition over their tensors holds; comes after `interleave`.",
             bind)
      .required("where", &Filter::where,
                "Condition, for example `label >= 0 and length(tokens) < 4096`; docs/expressions.md has the grammar.")
      .field("early", &Filter::early,
             "Allows a condition over the output of an expensive step such as `decode_image`, which then runs when the "
             "record is read, and again for its row.")
      .example({.options = R"({"where": "n % 2 == 1 and n != 3"})", .in = R"([1, 2, 3, 4, 5])", .out = R"([1, 5])"});
}

}  // namespace forebay::orders
