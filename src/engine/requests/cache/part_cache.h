// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <forebay/error.h>
#include <forebay/file_system.h>

#include "engine/memory/buffer_pool.h"
#include "engine/program/run_means.h"
#include "engine/requests/cache/part_table.h"
#include "engine/requests/cache/work_thread.h"

namespace forebay::engine {

/// When a run uses the parts of a range of a file.
struct RangeUse {
  std::int64_t first_part = 0;
  std::vector<PartTimes> times = {};  ///< Of all parts that have bytes of the range.
  bool in_order = false;              ///< The run reads the file from its beginning to its end.
};

struct PartRead {
  FileSystem* system = nullptr;
  ReadRequest request;  ///< Of bytes in that range.
  std::shared_ptr<const RangeUse> use;
  std::shared_ptr<BufferPool> pool;  ///< Gives the memory of parts of which the range is less.
};

/// Reads of files of stores, of which parts are kept on a local disk and read from there the next time.
///
///     read ─► look ──► here ─────────────────────────────────────────────────► answer
///               ├────► coming: wait for it ──────────────────────────────────► answer
///               ├────► claimed ─► from the store, the whole part ─┬──────────► answer
///               │                                                 └─► the disk
///               └────► nowhere ─► from the store, the range alone ───────────► answer
///
/// A part of which the range is less is fetched whole only where it has room, or where the run is about to read the
/// rest, too. The runs of a process share the object of a folder,
/// and all processes of a machine the folder (PartTable).
///
/// Thread-safe. One thread looks and reads, and another one writes; what comes from a store and waits to be written is
/// limited, and what is more than that is not kept.
class PartCache : public std::enable_shared_from_this<PartCache> {
 public:
  /// The cache of a folder. Null without a folder, and where none of `files` is of a FileSystem. Fails as
  /// PartTable::open.
  [[nodiscard]] static Result<std::shared_ptr<PartCache>> open(const CacheFolder& where,
                                                               std::span<const std::string> files);
  PartCache(std::unique_ptr<PartTable> table, std::string notice)
      : table_{std::move(table)}, notice_{std::move(notice)} {}

  [[nodiscard]] std::int64_t part_bytes() const { return table_->part_bytes(); }
  [[nodiscard]] std::int64_t bytes() const { return table_->bytes(); }
  /// As FileSystem::read.
  void read(PartRead read, FileSystem::Answer answer);
  /// A line about a cache that is emptied, has another size or is off, once. Empty: there is none.
  [[nodiscard]] std::string take_notice() EXCLUDES(mutex_);

 private:
  struct Job;
  struct Fetch;
  struct Coming;
  void add(std::shared_ptr<Job> job);
  void serve(const std::shared_ptr<Job>& job);
  [[nodiscard]] PartTable::Found look(const Job& job, std::int64_t part, bool may_claim);
  void give(Job& job, std::int64_t part, const PartTable::Found& found);
  void fetch(const std::shared_ptr<Job>& job, std::int64_t part, PartTable::Found found);
  void fetch_whole(const std::shared_ptr<Job>& job, std::int64_t part, const PartTable::Found& claimed);
  void begin(const std::shared_ptr<Fetch>& fetch);
  void go_on(const std::shared_ptr<Fetch>& fetch);
  void came(const std::shared_ptr<Fetch>& fetch, const Result<std::size_t>& count);
  void write(const PartKey& key, const Fetch& fetch);
  void keep(const PartKey& key, const std::shared_ptr<Coming>& coming);
  void let_go(const PartKey& key, const PartTable::Found& claimed);

  const std::unique_ptr<PartTable> table_;
  // Only the thread that looks uses these two.
  std::unordered_map<PartKey, std::shared_ptr<Coming>> coming_;
  std::int64_t to_write_ = 0;  // bytes
  Mutex mutex_;
  std::string notice_ GUARDED_BY(mutex_);
  bool told_ GUARDED_BY(mutex_) = false;  // that the cache is off
  WorkThread writer_;                     // the threads end first
  WorkThread looker_;
};

}  // namespace forebay::engine
