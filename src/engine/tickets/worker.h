// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <forebay/plugin.h>

#include "engine/memory/buffer_pool.h"
#include "engine/read/file_cache.h"
#include "engine/tickets/record_copies.h"
#include "engine/tickets/step_chain.h"
#include "engine/tickets/take/take_rows.h"

namespace forebay::engine {

/// Memory that one worker keeps between tickets. Used by its thread only.
struct Worker {
  std::size_t number = 0;
  std::unique_ptr<DecoderMemory> memory;  ///< Null when the rows come ready.
  Charge charge;                          ///< For `memory`.
  std::vector<Record> records;            ///< The group of records that is decoded by one call.
  RecordCopies copies;                    ///< Private bytes of `records`, where they lie in a mapping.
  std::vector<FileCache::Wanted> wanted;  ///< Records that are read from files whose pages were given back.
  std::unique_ptr<TakeMemory> take;       ///< Only in plans that take spans.
  StepScratch steps;
  std::vector<Worker> branches = {};  ///< Of a combination: the memory for each branch.
};

}  // namespace forebay::engine
