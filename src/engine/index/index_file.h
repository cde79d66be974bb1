// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <forebay/index.h>

#include "engine/index/index_store.h"
#include "engine/memory/buffer_pool.h"
#include "engine/read/record_index.h"
#include "engine/requests/cache/run_cache.h"
#include "engine/requests/known_versions.h"

namespace forebay::engine {

inline constexpr std::int64_t restart_interval = std::int64_t{2} << 20;  ///< Bytes of content between restart points.

/// A data file, and the index that is wanted of it.
struct IndexRequest {
  std::string file;
  Compression compression = Compression::automatic;
  std::shared_ptr<const Format> format;
  std::string signature;  ///< Format and the options that change its records; an index with another one is stale.
  std::int64_t max_decompressed_bytes = INT64_MAX;  ///< More bytes are an error; stored indexes do not depend on it.
  /// The pool for the memory of a scan; null: each scan may use a quarter of the machine's memory.
  std::shared_ptr<BufferPool> pool = {};
  std::shared_ptr<IndexStores> stores = {};       ///< Null: each call opens the stores anew, in the usual places.
  std::shared_ptr<RunCache> cache = {};           ///< Which keeps what a scan reads; null: none does.
  std::shared_ptr<KnownVersions> known = {};      ///< Versions that a scan does not ask for; null: it asks for all.
  std::optional<io::FileIdentity> identity = {};  ///< Of the file, where it is known; else the file is asked.
  std::uint64_t made_by = 0;  ///< Names the index among those of the file: 0 for that of all its records (EntryKey).
};

/// Called on the scanning thread after each block, with the bytes of the file that the block has read. False ends the
/// scan with Code::cancelled.
using IndexWatch = std::function<bool(std::int64_t bytes)>;

/// Makes an index by a scan of the whole file. Payloads are not verified. Fails with file, record and offset for a
/// fault of the file, with Code::data when the file changes during the scan, and with Code::cancelled.
[[nodiscard]] Result<std::shared_ptr<const RecordIndex>> build_index(const IndexRequest& request,
                                                                     const IndexWatch& watch = {});

/// The stored index of a file. The store beside the file is tried first, then the one in the cache folder; the first
/// good index is used. A bad index is not an error: it counts as missing, and `reason` says why.
struct StoredIndex {
  IndexState state = IndexState::absent;
  std::shared_ptr<const RecordIndex> index;  ///< Null unless good.
  std::string path;                          ///< Of the store that has it, good or bad; empty when there is none.
  std::string reason;                        ///< Why the index is not good.
};
/// Looks for the stored index. Fails only when the data file itself cannot be read.
[[nodiscard]] Result<StoredIndex> load_index(const IndexRequest& request);
/// What the head of the newest stored index of a file says. Nothing is verified: it tells what is not worth loading.
struct IndexFacts {
  std::int64_t records = 0;
  std::int64_t bytes = 0;  ///< Of the uncompressed file.
  Compression compression = Compression::none;
};
[[nodiscard]] std::optional<IndexFacts> peek_index(const IndexRequest& request);
/// The stores of the request, or new ones.
[[nodiscard]] std::shared_ptr<IndexStores> stores_of(const IndexRequest& request);

/// The result of `load_or_build`.
struct IndexOutcome {
  std::shared_ptr<const RecordIndex> index;  ///< Never null.
  StoredIndex found;                         ///< The stored index before the call.
  bool built = false;                        ///< The index was made in this call.
  std::string path;                          ///< Of the store that has the index; empty when it is not stored.
  std::optional<Error> not_stored;           ///< Why it is not stored. An index of a newer version is left alone.
};
/// Returns the stored index if it is good; else makes a new one and stores it if possible.
[[nodiscard]] Result<IndexOutcome> load_or_build(const IndexRequest& request, const IndexWatch& watch = {},
                                                 IndexOptions::Existing existing = IndexOptions::Existing::keep);

}  // namespace forebay::engine
