// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "plan/bind/stages.h"
#include "plan/document/faults.h"
#include "plan/document/pipeline_document.h"

namespace forebay::plan {

/// A branch whose rows stand beside those of the other branches.
struct SideBranch {
  const Json& json;
  std::vector<const Stages*> stages;  ///< Of each stretch in which it is planned.
  const PipelineDocument& document;
  std::vector<const Stages*> inside = {};  ///< Of the branches of this branch, where it is a combination.
  /// Set: a corrupt record would be no row, instead of a bad one. What to do about that.
  std::string_view instead_of_skips = {};
};

/// Checks that rows which belong together stay together: all branches move their rows alike, by orders that depend on
/// nothing but the seed and the number of rows, and none leaves out rows of its own. `shortest`: a pass ends with the
/// shortest branch, so branches may have different numbers of rows. Returns whether orders go by files, so that the
/// files of all branches must have equally many rows (Program::equal_files).
[[nodiscard]] bool check_side_by_side(std::span<const SideBranch> branches, bool shortest, const Registry& registry,
                                      Faults& faults);

}  // namespace forebay::plan
