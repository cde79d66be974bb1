// SPDX-License-Identifier: Apache-2.0
#include "engine/order/branches/turns.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace forebay::engine {

Turns::Turns(const Program& program) : program_{program} {
  constexpr std::uint64_t purposes_apart = std::uint64_t{1} << 32;  // far from those of orders
  const auto add = [&](const Combining& combining, std::size_t branches) {
    combiners_.push_back(
        combining.make({.seed = program.seed, .purpose = purposes_apart * combiners_.size(), .branches = branches}));
    ends_.push_back(combining.end);
  };
  for (const EarlierCombining& earlier : program.earlier) add(earlier.combining, earlier.branches);
  add(program.combining, program.branches.size());
}

void Turns::begin(std::int64_t pass) {
  pass_ = pass;
  open_.clear();
  completed_.clear();
  stage_ = 0;
  chosen_ = none;
  given_ = 0;
  over_ = false;
  enter(pass, 0);
}

/// Goes to what the combination is from row `row` of pass `pass` on. Branches that join are open. A pass ends as it was
/// to end when it began.
void Turns::enter(std::int64_t pass, std::int64_t row) {
  const auto& earlier = program_.earlier;
  while (stage_ < earlier.size() && std::tie(earlier[stage_].pass, earlier[stage_].row) <= std::tie(pass, row))
    ++stage_;
  const bool of_today = stage_ == earlier.size();
  if (row == 0) {
    end_ = ends_[stage_];
    most_ = end_.when == PassEnd::When::rows ? end_.rows : -1;
  }
  const std::size_t branches = of_today ? program_.branches.size() : earlier[stage_].branches;
  open_.resize(branches, true);
  completed_.resize(branches, false);
  change_ = !of_today && earlier[stage_].pass == pass ? earlier[stage_].row : -1;
  stop_ = change_ >= 0 && (most_ < 0 || change_ < most_) ? change_ : most_;
  combiner_ = combiners_[stage_].get();
  combiner_->begin(pass);
  left_out_.assign(branches, false);
  open_left_ = 0;
  for (std::size_t i = 0; i < branches; ++i) {
    left_out_[i] = combiner_->leaves_out(i);
    if (open_[i] && !left_out_[i]) ++open_left_;
  }
}

void Turns::reach() {
  if (given_ == change_) enter(pass_, given_);
  over_ = given_ == most_ || all_completed();
}

/// Whether `until` says that the pass is over.
bool Turns::all_completed() const {
  if (end_.when != PassEnd::When::all) return false;
  for (std::size_t i = 0; i < completed_.size(); ++i) {
    if (!completed(i)) return false;
  }
  return true;
}

std::int64_t Turns::pass_over(std::int64_t n, std::vector<std::int64_t>& left, std::vector<std::int64_t>& counts) {
  if (chosen_ != none || over_ || open_left_ == 0) return 0;
  if (stop_ >= 0) n = std::min(n, stop_ - given_);
  if (n <= 0) return 0;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i < open_.size() && open_[i] ? left[i] : 0;
  const auto of_stage = std::span{left}.first(open_.size());
  const std::int64_t turns = combiner_->pass_over(n, open_, of_stage, std::span{counts}.first(open_.size()));
  given_ += turns;
  return turns;
}

bool Turns::goes_round(std::size_t branch) const {
  return program_.branches[branch].repeat && (end_.when != PassEnd::When::all || completed(branch));
}

/// A branch that repeats is left out once its epoch was empty: so would be all that follow.
bool Turns::ended(bool empty) {
  const std::size_t branch = chosen_;
  const bool repeats = program_.branches[branch].repeat;
  const bool goes_on = repeats && !empty;
  completed_[branch] = true;
  if (!goes_on) {
    open_[branch] = false;
    --open_left_;
    chosen_ = none;
    over_ = end_.when == PassEnd::When::first && !repeats;
  }
  if (all_completed()) over_ = true, chosen_ = none;
  return goes_on;
}

}  // namespace forebay::engine
