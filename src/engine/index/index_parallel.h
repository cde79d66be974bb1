// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/index/index_file.h"
#include "engine/index/made_index.h"
#include "engine/index/published/published_index.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Returns the request for the index that a run needs of one file of its source. It has no pool and no stores.
[[nodiscard]] IndexRequest request_for(const Source& source, std::uint32_t file);

/// Resources for indexing.
struct IndexMeans {
  std::shared_ptr<BufferPool> pool;  ///< Shared by all files.
  std::int64_t threads = 0;          ///< Files at once; 0: one for every CPU.
  std::shared_ptr<IndexStores> stores = std::make_shared<IndexStores>();
  std::shared_ptr<RunCache> cache = {};  ///< As IndexRequest::cache.
};

/// Makes the index of a file for a program that looks into its records, with the attributes and skips, by a scan of the
/// whole file. Fails as `scan_index`, unless the policy passes over the file.
[[nodiscard]] Result<MadeIndex> make_index(const Program& program, const IndexRequest& request, std::uint32_t file,
                                           const IndexWatch& watch);

/// The requests for the indexes of files of a source. `known`: null, or IndexRequest::known.
[[nodiscard]] std::vector<IndexRequest> requests_for(const Source& source, std::span<const std::uint32_t> files,
                                                     const IndexMeans& means,
                                                     const std::shared_ptr<KnownVersions>& known = {});

/// Gives the requests for files of other machines their identity, for which all are asked together; not one for a file
/// that is not found, or whose version is not told. `go_on`: false ends the wait.
void ask_versions(std::span<IndexRequest> requests, const std::function<bool()>& go_on,
                  const std::shared_ptr<KnownVersions>& known = {});
/// The same, and takes what is published of the files into their stores, unless these have entries of all `keys`.
void ask_versions_and_published(std::span<IndexRequest> requests, std::span<const EntryKey> keys,
                                const AskingForIndexes& asking);

/// The requests for files of the program's source, with their versions, after what is published of them was taken.
[[nodiscard]] std::vector<IndexRequest> requests_with_published(const Program& program,
                                                                std::span<const std::uint32_t> files,
                                                                const IndexMeans& means,
                                                                const std::function<bool()>& go_on = {});

/// Gets the indexes of some files; null for those that were not made, because one of them failed.
using TakeIndexes = std::function<Result<void>(std::span<const std::uint32_t> files, std::span<MadeIndex> made)>;

/// Reads or makes the indexes of `files` of the program's source, several at once, and gives them to `take`, some at a
/// time, so that not all are in memory. Other machines are asked about many more at once. The calling thread polls
/// `go_on`; false ends the work with Code::cancelled. If several files fail, the error of the first one in their order
/// is returned.
[[nodiscard]] Result<void> index_in_parallel(const Program& program, std::span<const std::uint32_t> files,
                                             const IndexMeans& means, const std::function<bool()>& go_on,
                                             const TakeIndexes& take);

}  // namespace forebay::engine
