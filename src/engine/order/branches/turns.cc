// SPDX-License-Identifier: Apache-2.0
#include "engine/order/branches/turns.h"

#include <algorithm>

namespace forebay::engine {

void Turns::begin(std::int64_t pass) {
  combiner_->begin(pass);
  open_.assign(program_.branches.size(), true);
  open_left_ = open_.size();
  completed_.assign(open_.size(), false);
  chosen_ = none;
  given_ = 0;
  over_ = false;
}

/// A branch that repeats is left out once its epoch was empty: so would be all that follow.
bool Turns::ended(bool empty) {
  const PassEnd::When when = program_.combining.end.when;
  const std::size_t branch = chosen_;
  const bool repeats = program_.branches[branch].repeat;
  const bool goes_on = repeats && !empty;
  completed_[branch] = true;
  if (!goes_on) {
    open_[branch] = false;
    --open_left_;
    chosen_ = none;
    over_ = when == PassEnd::When::first && !repeats;
  }
  if (when == PassEnd::When::all && std::ranges::count(completed_, false) == 0) over_ = true, chosen_ = none;
  return goes_on;
}

}  // namespace forebay::engine
