// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "engine/program/program.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

/// Takes the rows that have a fault out of a batch whose tickets are done: the rows after them move up, in all columns
/// and in the layout, so the rows of the batch from handles.size() on are empty. Puts the faults into Job::skipped, in
/// the order of the rows. `row_bytes`: by batched output, 0 where rows are not written in place.
void take_out_bad_rows(Job& job, const Program& program, std::span<const std::size_t> row_bytes);

}  // namespace forebay::engine
