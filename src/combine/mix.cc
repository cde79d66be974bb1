// SPDX-License-Identifier: Apache-2.0
#include <forebay/combine/mix.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>

#include <fmt/core.h>

#include "base/draw.h"
#include "combine/branch_draws.h"
#include "combine/branch_rules.h"

namespace forebay::combine {
namespace {

/// Weights as integers whose sum is about 2^32, so that every machine draws the same branches.
std::vector<std::uint64_t> integer_weights(const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint64_t> out;
  for (const double weight : weights) {
    const std::uint64_t smallest = weight > 0 ? 1 : 0;
    out.push_back(std::max(smallest, static_cast<std::uint64_t>(std::llround(weight / sum * 4294967296.0))));
  }
  return out;
}

/// The weights from a pass on.
struct Stretch {
  std::int64_t pass = 0;
  std::vector<std::uint64_t> weights;
};
using Schedule = std::vector<Stretch>;

Schedule schedule_of(const MixWeights& weights, std::size_t branches) {
  if (weights.schedule.empty()) return {{.pass = 0, .weights = integer_weights(std::vector<double>(branches, 1.0))}};
  Schedule out;
  for (const auto& [pass, given] : weights.schedule) {
    Stretch next{.pass = pass, .weights = integer_weights(given)};
    if (out.empty() || out.back().weights != next.weights) out.push_back(std::move(next));
  }
  return out;
}

/// A hash of the weights of pass `last` and of all before it.
std::uint64_t hash_up_to(const Schedule& schedule, std::int64_t last) {
  std::uint64_t out = 0;
  for (const auto& [pass, weights] : schedule) {
    if (pass > last) break;
    out = forebay::mix(out ^ static_cast<std::uint64_t>(pass));
    for (const std::uint64_t weight : weights) out = forebay::mix(out ^ weight);
  }
  return out;
}

/// Draws the branch of each row. Where a branch turns out to have no row left, a segment begins: the rows from there on
/// are drawn anew among the branches that are open. A row's branch is a pure function of (seed, pass, segment, number
/// of the row in the segment). The engine owns it; one thread at a time calls it.
class Draws final : public Combiner {
 public:
  Draws(Schedule schedule, const CombineContext& context) : schedule_{std::move(schedule)}, context_{context} {}

  void begin(std::int64_t pass) override {
    key_ = draw_key({.seed = context_.seed, .epoch = static_cast<std::uint64_t>(pass), .purpose = context_.purpose});
    segment_ = 0;
    const auto later = std::ranges::upper_bound(schedule_, pass, {}, &Stretch::pass);
    of_pass_ = &std::prev(later)->weights;
    weights_ = *of_pass_;
    draws_.emplace(key_, weights_);
  }

  bool leaves_out(std::size_t branch) const override { return (*of_pass_)[branch] == 0; }

  std::size_t next(const std::vector<bool>& open) override {
    const std::size_t branch = draws_->next();
    if (open[branch]) return branch;
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = open[i] ? weights_[i] : 0;
    draws_.emplace(draw_at(key_, ++segment_), weights_);
    return draws_->next();
  }

  std::int64_t pass_over(std::int64_t n, const std::vector<bool>&, std::span<const std::int64_t> left,
                         std::span<std::int64_t> counts) override {
    return draws_->pass_over(n, left, counts);
  }

 private:
  const Schedule schedule_;
  const CombineContext context_;
  const std::vector<std::uint64_t>* of_pass_ = nullptr;  // in the schedule
  std::vector<std::uint64_t> weights_;                   // the same; 0 where a branch is closed
  std::uint64_t key_ = 0;
  std::uint64_t segment_ = 0;
  std::optional<BranchDraws> draws_;
};

Result<void> check_weights(const MixWeights& weights, std::size_t branches) {
  const auto refuse = [](std::string message) {
    return Error{Code::config, Detail::invalid_argument, std::move(message)}.at(Field{"weights"});
  };
  for (const auto& [pass, given] : weights.schedule) {
    if (given.size() != branches)
      return refuse(fmt::format("there are {} weights for {} branches{}; give each branch one", given.size(), branches,
                                weights.schedule.size() > 1 ? fmt::format(" from pass {} on", pass) : ""));
    for (const double weight : given) {
      if (!(weight >= 0) || !(weight <= 1e9))
        return refuse(
            fmt::format("a weight must be 0, which leaves the branch out, or a number up to 1e9; found {}", weight));
    }
    if (!given.empty() && std::ranges::count(given, 0) == std::ssize(given))
      return refuse(fmt::format("all weights are 0{}, so no branch would give a row; give one of them a weight above 0",
                                weights.schedule.size() > 1 ? fmt::format(" from pass {} on", pass) : ""));
  }
  return {};
}

/// Fails when a pass of these weights would never end.
Result<void> check_ends(const Until& until, const Stretch& stretch, const BranchList& branches) {
  BranchList there;
  for (std::size_t i = 0; i < branches.repeat.size(); ++i) {
    if (stretch.weights[i] > 0) there.repeat.push_back(branches.repeat[i]);
  }
  return check_end(until, there);
}

Result<Combining> bind_mix(const Mix& options, const BranchList& branches) {
  FOREBAY_DO(check_weights(options.weights, branches.repeat.size()));
  const Schedule schedule = schedule_of(options.weights, branches.repeat.size());
  for (const Stretch& stretch : schedule) FOREBAY_DO(check_ends(options.until, stretch, branches));
  const bool leaves_out = std::ranges::any_of(
      schedule, [](const Stretch& stretch) { return std::ranges::count(stretch.weights, std::uint64_t{0}) > 0; });
  return Combining{.make = [schedule](const CombineContext& context) -> std::unique_ptr<Combiner> {
                     return std::make_unique<Draws>(schedule, context);
                   },
                   .end = options.until,
                   .fill = options.fill,
                   .leaves_out = leaves_out,
                   .passes = [schedule](std::int64_t last) { return hash_up_to(schedule, last); }};
}

}  // namespace

CombineType mix() {
  CombineType out =
      describe<CombineType, Mix>(
          "mix", "Draws the branch of every row at random. Branches go on across passes, where they are.", bind_mix)
          .field("weights", &Mix::weights,
                 "One for each branch; empty: equal. A branch of weight 0 is left out, and keeps its place. "
                 "[[0, [0.7, 0.3]], [3, [0.5, 0.5]]]: from pass 0 on, and from pass 3 on.")
          .field("until", &Mix::until, until_doc)
          .field("fill", &Mix::fill, fill_doc)
          .required("branches", &Mix::branches, branches_doc)
          .example({.options = R"({"weights": [3, 1], "until": "all"})",
                    .in = R"([[1, 2, 3, 4, 5, 6], [10, 20, 30]])",
                    .out = R"([1, 10, 2, 3, 20, 4, 5, 6, 30])"});
  out.may_change = {"weights", "until"};
  out.by_pass = "weights";
  out.draws = "halves-1";
  return out;
}

}  // namespace forebay::combine
