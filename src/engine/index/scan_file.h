// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/index/index_file.h"
#include "engine/read/file_reader.h"
#include "engine/read/record_index.h"

/// Scans of whole files outside a run.
namespace forebay::engine {

/// Scans to the end of the file and calls `each` for every block, also for one with an error. Gives back the pages of a
/// mapped file that were scanned. Fails with the error of a block, or of `each`.
[[nodiscard]] Result<void> each_block(FileReader& scanner, const std::function<Result<void>(const Block&)>& each);

/// The records of a block that are not skipped, in their order.
[[nodiscard]] std::vector<std::span<const Extent>> intact_runs(const Block& block);

/// The pool of the request, or a new one.
[[nodiscard]] std::shared_ptr<BufferPool> pool_of(const IndexRequest& request);

/// Adds the records of a block to the index.
using AddRecords = std::function<void(const Block& block, RecordIndexBuilder& builder)>;
/// Makes the index of the requested file; the scan must not have begun. Fails with the fault of the file, with
/// Code::data when the file changes meanwhile, and with Code::cancelled when `watch` returns false.
[[nodiscard]] Result<std::shared_ptr<const RecordIndex>> scan_index(const IndexRequest& request, FileReader& scanner,
                                                                    const IndexWatch& watch, const AddRecords& add);

}  // namespace forebay::engine
