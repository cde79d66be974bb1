// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/index/index_file.h"
#include "engine/program/program.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// Which index a run wants of a file of its source.
[[nodiscard]] IndexRequest request_for(const Source& source, std::uint32_t file);

/// What indexing may use.
struct IndexMeans {
  std::shared_ptr<BufferPool> pool;  ///< For all files together.
  std::int64_t threads = 0;          ///< Files at once; 0: one for every CPU.
};

struct MadeIndex {
  std::shared_ptr<const RecordIndex> index;  ///< Null when it was not made.
  std::vector<Skip> skips;                   ///< When corrupt records may be skipped: what the index leaves out.
  std::shared_ptr<void> charge;              ///< Of the index, to the budget.
};

/// Reads or makes the indexes of `files` of the program's source, several at once; `made` has as many places. `go_on`
/// is asked by the calling thread now and then; false ends the work with Code::cancelled. Fails with the error of the
/// first file, in their order, that has one.
[[nodiscard]] Result<void> index_in_parallel(const Program& program, std::span<const std::uint32_t> files,
                                             const IndexMeans& means, const std::function<bool()>& go_on,
                                             std::span<MadeIndex> made);

}  // namespace forebay::engine
