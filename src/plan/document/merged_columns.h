// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "plan/document/faults.h"

/// The columns of the rows of a combination.
namespace forebay::plan {

/// What a branch gives.
struct BranchColumns {
  const Json* json = nullptr;  ///< The branch in the document, for faults.
  const Schema* schema = nullptr;
};

struct MergedSchema {
  Schema schema;
  std::vector<engine::MergedColumn> columns;  ///< By id of `schema`.
};

/// The tensors of all branches, those of the first branch first. Faults: a tensor that a branch lacks and that has no
/// `fill`; another dtype, shape or form; a `fill` that no branch needs or that does not fit. `options` are those of the
/// combination.
[[nodiscard]] MergedSchema merge_columns(const std::vector<BranchColumns>& branches, const Combining& combining,
                                         const Json& options, Faults& faults);

/// Row i of every branch side by side. Fault: a tensor that two branches have.
[[nodiscard]] MergedSchema join_columns(const std::vector<BranchColumns>& branches, Faults& faults);

}  // namespace forebay::plan
