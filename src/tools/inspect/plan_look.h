// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <forebay/loader.h>
#include <forebay/plan.h>

#include "tools/inspect/inspected.h"

namespace forebay::tools {

/// How much of a run is looked at.
struct PlanPass {
  std::optional<std::int64_t> rows;  ///< At most; nothing: the first epoch.
  std::function<bool()> go_on = {};
};

/// Takes batches of a run and counts the values of their tensors, rows in the order of the run; decoding is parallel.
/// Padding is not counted. Fills the features, their number of rows and `sample`. Fails as the run does.
[[nodiscard]] Result<void> look_at_run(Loader& loader, const PlanPass& pass, Inspected& out);

/// Adds the first valid rows of a batch, at most `rows`, to the features, which are those of `features_of`. Returns
/// their number.
std::int64_t add_batch(const Batch& batch, const std::vector<ColumnSpec>& specs, std::int64_t rows, Inspected& out);

/// Leaves out the columns that only say where another one has values.
void leave_out_presences(std::vector<InspectedFeature>& features);

/// The features of a plan without a look at its rows.
[[nodiscard]] std::vector<InspectedFeature> features_of(const Plan& plan);

}  // namespace forebay::tools
