// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/error.h>

#include "engine/program/program.h"

/// Shards of elements (docs/adr/0024). As for shards of whole files, a run of such a shard is the run of a derived
/// program: its last order deals the elements, and its batches have the shard's size.
namespace forebay::engine {

/// Fails with Code::config when the batches of the program cannot be shared so.
[[nodiscard]] Result<void> check_element_shard(const Program& program, std::int64_t count);

/// The program of shard `index` of `count`; `check_element_shard` must have passed. The result has state, the batches
/// of the present pass, so it is for one run only.
[[nodiscard]] std::shared_ptr<const Program> element_shard(const Program& program, std::int64_t index,
                                                           std::int64_t count);

}  // namespace forebay::engine
