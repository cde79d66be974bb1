// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/index/index_file.h"
#include "engine/read/file_reader.h"
#include "engine/read/record_index.h"

/// One file from end to end, outside a run.
namespace forebay::engine {

/// Scans to the end of the file and calls `each` for every block, one with an error included. Of a mapped file, pages
/// that lie behind are given back. Fails with the error of a block, or of `each`.
[[nodiscard]] Result<void> each_block(FileReader& scanner, const std::function<Result<void>(const Block&)>& each);

/// The records of a block between those that are skipped, in their order.
[[nodiscard]] std::vector<std::span<const Extent>> intact_runs(const Block& block);

/// Of the request, or one of its own.
[[nodiscard]] std::shared_ptr<BufferPool> pool_of(const IndexRequest& request);

/// Gives the builder the records of a block that an index is to name.
using AddRecords = std::function<void(const Block& block, RecordIndexBuilder& builder)>;
/// The index of the requested file by a scan that has not begun. Fails with what is wrong with the file, with
/// Code::data when it changes meanwhile, with Code::cancelled when `watch` says so.
[[nodiscard]] Result<std::shared_ptr<const RecordIndex>> scan_index(const IndexRequest& request, FileReader& scanner,
                                                                    const IndexWatch& watch, const AddRecords& add);

}  // namespace forebay::engine
