// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <forebay/batch.h>
#include <forebay/describe.h>
#include <forebay/plan.h>

#include "engine/program/position.h"
#include "plan/document/faults.h"

namespace forebay {
template <>
struct EnumNames<ShardBy> {
  static constexpr std::array<std::string_view, 2> names{"row", "file"};
};
}  // namespace forebay

namespace forebay::plan {

/// `shard` as documents, arguments and flags say it: null (everything), [index, count], "index/count", "auto", which
/// asks the launcher's environment variables (rank.h), or {"index": …, "count": …, "by": "row" or "file", "replicas":
/// …}. What is wrong becomes a fault, and everything is taken.
[[nodiscard]] engine::Shard read_shard(const Json& json, Faults& faults);

/// What "auto" picked, for people to see: a wrong pick would go unnoticed for long. One line with the rank, who said
/// so, the shard, the batches of the run where stored indexes tell, and the keys of the first records of `first`, if
/// there is one. Empty when nothing was picked.
[[nodiscard]] std::string picked_text(const Plan& plan, const engine::Shard& shard, const Batch* first);

}  // namespace forebay::plan
