// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <forebay/count.h>

/// Numbers of batches, for Python.
namespace forebay::python {

/// As `count_batches`. Ctrl-C ends it.
std::optional<std::int64_t> count(const Plan& plan, CountOptions options);

/// The batches of the plan's shard in a run, or in its first epoch; decodes where indexes cannot tell. Raises TypeError
/// for the whole of an endless run.
std::int64_t count_all(const Plan& plan, bool per_epoch, std::int64_t threads);

/// How many of the first batches of a run a shard by batch has.
std::int64_t own_of(const Shard& shard, std::int64_t batches);

}  // namespace forebay::python
