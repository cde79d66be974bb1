// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/run_options.h>

#include "plan/document/faults.h"

namespace forebay::plan {

/// A shard for people to read: "shard 1 of 4 by file, batches 0, 2, …".
[[nodiscard]] std::string words_of(const Shard& shard);

/// A shard in any of the forms that `parse_shard` takes. A wrong one becomes a fault, and the result is everything.
[[nodiscard]] Shard read_shard(const Json& json, Faults& faults);

}  // namespace forebay::plan
