// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <forebay/index.h>

#include "engine/memory/buffer_pool.h"
#include "engine/read/record_index.h"

namespace forebay::engine {

inline constexpr std::int64_t restart_interval = std::int64_t{2} << 20;  ///< Content between two restart points.

/// Which index is wanted.
struct IndexRequest {
  std::string file;
  Compression compression = Compression::automatic;
  std::shared_ptr<const Format> format;
  std::string signature;  ///< Of the format and the options that matter; an index with another one is stale.
  std::int64_t max_decompressed_bytes = INT64_MAX;  ///< More content is an error; stored indexes do not depend on it.
  /// What a scan takes its memory from; null: a quarter of the machine's for each.
  std::shared_ptr<BufferPool> pool = {};
};

/// Called between blocks with the bytes of the file that were read since; false ends it with Code::cancelled.
using IndexWatch = std::function<bool(std::int64_t bytes)>;

/// Scans a file from end to end; payloads are not looked at. Fails with what is wrong with the file: file, record and
/// offset. A file that changes meanwhile fails with Code::data.
[[nodiscard]] Result<std::shared_ptr<const RecordIndex>> build_index(const IndexRequest& request,
                                                                     const IndexWatch& watch = {});

/// What is stored for a file. An index beside the file is looked at first, then the one in the cache folder; the first
/// good one is taken. Nothing that is wrong with an index is an error: it is then not there, for a reason.
struct StoredIndex {
  IndexState state = IndexState::absent;
  std::shared_ptr<const RecordIndex> index;  ///< Null unless good.
  std::string path;                          ///< Where it is, or what is wrong; empty when absent.
  std::string reason;                        ///< Why it is not good.
};
/// Fails only when the data file itself cannot be read.
[[nodiscard]] Result<StoredIndex> load_index(const IndexRequest& request);

struct IndexOutcome {
  std::shared_ptr<const RecordIndex> index;  ///< Never null.
  StoredIndex found;
  bool built = false;
  std::string path;                 ///< Where the index is stored; empty when it is not.
  std::optional<Error> not_stored;  ///< Why it is not. An index of a newer program is left alone.
};
/// The index of a file: the stored one when it is good, else a new one, which is stored if that is possible.
[[nodiscard]] Result<IndexOutcome> load_or_build(const IndexRequest& request, const IndexWatch& watch = {},
                                                 IndexOptions::Existing existing = IndexOptions::Existing::keep);

}  // namespace forebay::engine
