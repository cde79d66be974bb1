// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <forebay/order.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/sync.h"
#include "engine/requests/cache/part_cache.h"
#include "engine/requests/cache/pass_times.h"
#include "engine/requests/cache/record_times.h"
#include "io/file_system.h"

namespace forebay::engine {

/// How a run reads a file of which parts may be kept on a local disk.
enum class Keeping : std::uint8_t {
  none,      ///< None are kept.
  in_order,  ///< From its beginning to its end.
  by_index,  ///< Records here and there.
};

/// A cache as one source of a run uses it: with the times of its passes. Thread-safe.
class RunCache {
 public:
  RunCache(std::shared_ptr<PartCache> cache, std::shared_ptr<BufferPool> pool)
      : cache_{std::move(cache)}, pool_{std::move(pool)} {}

  void begin_pass(PassTimes times) EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    times_ = std::move(times);
  }
  /// When it reads records in random order, from now on. Null: nobody knows.
  void read_by(std::unique_ptr<RecordTimes> records) EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    records_ = std::move(records);
  }
  [[nodiscard]] bool knows_records() EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    return records_ != nullptr;
  }
  /// The run asks for these records of files, in the order that `read_by` knows.
  void reach(std::span<const RecordName> records) EXCLUDES(mutex_) {
    const Lock lock{mutex_};
    if (!records_ || !times_) return;
    for (const RecordName& record : records) records_->reach(times_->pass(), record.file, record.record);
  }
  [[nodiscard]] std::int64_t bytes() const { return cache_->bytes(); }  ///< Of parts that it can keep.
  [[nodiscard]] std::int64_t part_bytes() const { return cache_->part_bytes(); }
  [[nodiscard]] std::string take_notice() { return cache_->take_notice(); }
  /// How the run uses a range of file number `file`, of `size` bytes. Null: no part of it is kept, as the run has not
  /// begun, or the file is much smaller than a part.
  [[nodiscard]] std::shared_ptr<const RangeUse> use_of(std::uint32_t file, std::int64_t size, io::ByteRange range,
                                                       Keeping keeping) EXCLUDES(mutex_) {
    const std::int64_t part = cache_->part_bytes();
    const Lock lock{mutex_};
    if (!times_ || keeping == Keeping::none || size < part / min_share) return nullptr;
    auto out = std::make_shared<RangeUse>();
    out->first_part = range.offset / part;
    out->in_order = keeping == Keeping::in_order;
    for (std::int64_t at = out->first_part * part; at < range.end(); at += part) {
      const io::ByteRange bytes{.offset = at, .bytes = std::min(part, size - at)};
      out->times.push_back(out->in_order ? times_->in_order(file, at, size) : by_index(file, bytes));
    }
    return out;
  }
  void read(FileSystem& system, ReadRequest request, std::shared_ptr<const RangeUse> use, FileSystem::Answer answer) {
    cache_->read({.system = &system, .request = std::move(request), .use = std::move(use), .pool = pool_},
                 std::move(answer));
  }

 private:
  [[nodiscard]] PartTimes by_index(std::uint32_t file, io::ByteRange part) const REQUIRES(mutex_) {
    PartTimes out = times_->by_index();
    if (!records_) return out;
    const PartTimes known = records_->of(times_->pass(), file, part);
    out.now = known.now;
    out.next = known.next;
    return out;
  }

  static constexpr std::int64_t min_share = 4;  // of a part, that a file must have
  const std::shared_ptr<PartCache> cache_;
  const std::shared_ptr<BufferPool> pool_;
  Mutex mutex_;
  std::optional<PassTimes> times_ GUARDED_BY(mutex_);
  std::unique_ptr<RecordTimes> records_ GUARDED_BY(mutex_);
};

}  // namespace forebay::engine
