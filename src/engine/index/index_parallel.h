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
#include "engine/read/file_versions.h"

namespace forebay::engine {

/// Returns the request for the index that a run needs of one file of its source. It has no pool.
[[nodiscard]] IndexRequest request_for(const Source& source, std::uint32_t file);

/// Resources for indexing.
struct IndexMeans {
  std::shared_ptr<BufferPool> pool;  ///< Shared by all files.
  std::int64_t threads = 0;          ///< Files at once; 0: one for every CPU.
};

/// The index of one file, and its share of the budget.
struct MadeIndex {
  std::shared_ptr<const RecordIndex> index;  ///< Null when it was not made.
  std::int64_t size = unknown_size;          ///< Of the file, as for a state (FileVersions::sizes).
  std::vector<std::int64_t> attributes;      ///< By record of the index, those of Program::early.
  std::vector<Skip> skips;       ///< Corrupt records and ranges that the index leaves out, if they may be skipped.
  std::shared_ptr<void> charge;  ///< The share of the budget that the index and the attributes take.

  /// Bytes of the index and of the attributes.
  [[nodiscard]] std::int64_t bytes() const {
    return std::ssize(index->image()) + std::ssize(attributes) * static_cast<std::int64_t>(sizeof(std::int64_t));
  }
};

/// Reads or makes the indexes of `files` of the program's source, several at once. `made` must be as long as `files`.
/// The calling thread polls `go_on`; false ends the work with Code::cancelled. If several files fail, the error of the
/// first one in their order is returned.
[[nodiscard]] Result<void> index_in_parallel(const Program& program, std::span<const std::uint32_t> files,
                                             const IndexMeans& means, const std::function<bool()>& go_on,
                                             std::span<MadeIndex> made);

}  // namespace forebay::engine
