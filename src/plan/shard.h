// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/position.h"
#include "plan/faults.h"

namespace forebay::plan {

/// `shard` as documents, arguments and flags say it: null (everything), [index, count], "index/count", or "auto", which
/// asks the launcher's environment variables (rank.h). What is wrong becomes a fault, and everything is taken.
[[nodiscard]] engine::Shard read_shard(const Json& json, Faults& faults);

/// What "auto" picked, for people to see: a wrong pick would go unnoticed for long. Empty when nothing was picked.
[[nodiscard]] std::string picked_text(const engine::Shard& shard);

}  // namespace forebay::plan
