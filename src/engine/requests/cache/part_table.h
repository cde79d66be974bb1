// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <forebay/error.h>

#include "engine/memory/sync.h"
#include "engine/requests/cache/farthest_first.h"
#include "engine/requests/cache/part_file.h"
#include "engine/requests/cache/part_key.h"

namespace forebay::engine {

/// A cache of parts of files in slots of equal size, in one file that the processes of a machine share.
///
///     look ──► here: read ──► the bytes, whose checksums were compared
///      │  └──► coming: another one is about to write it
///      └─────► claimed: keep, or let_go
///
/// Where all slots are taken, the part whose next use is last gives way, be it the new one (L. A. Belady, "A study of
/// replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966). Parts that other processes
/// of the same run are about to read give way last, the oldest first. Parts of other runs give way when those were not
/// seen for ten minutes, the oldest first.
///
/// A process that is killed leaves a mark, by which the next one mends the table, and slots that nobody writes any
/// more: they are free after ten seconds. Bytes are read and written without the lock of the table, so others than it
/// says may be there; these have other checksums. Thread-safe.
class PartTable {
 public:
  using Clock = std::function<std::int64_t()>;  ///< Milliseconds since 1970.

  /// Opens the cache of `folder`, and makes both where they are not there: it takes its `bytes` at once. One that has
  /// another size is emptied; while another process uses it, it stays as it is. `notice` says so, if it is empty then.
  /// Fails with Code::io, and with Code::config where the file is no cache, belongs to another user, or lies on a disk
  /// of another machine.
  [[nodiscard]] static Result<std::unique_ptr<PartTable>> open(const std::string& folder, std::int64_t bytes,
                                                               std::string& notice, Clock clock = {});
  PartTable(std::unique_ptr<PartFile> file, Clock clock);

  [[nodiscard]] std::int64_t part_bytes() const { return file_->part_bytes(); }
  [[nodiscard]] std::int64_t bytes() const { return part_bytes() * file_->slots(); }  ///< Of all slots.

  enum class Where : std::uint8_t {
    nowhere,
    here,
    coming,
    claimed,
    busy,  ///< Another process has the table locked: look again a moment later.
  };
  struct Found {
    Where where = Where::nowhere;
    std::uint32_t slot = 0;
    std::uint64_t ticket = 0;  ///< Of this content of the slot.
    std::int64_t bytes = 0;
    std::array<std::uint32_t, part_blocks> checksums = {};
  };
  /// Which slot a part may get that is not here.
  enum class Claim : std::uint8_t {
    never,
    free,  ///< One that nobody needs.
    any,   ///< That of a part whose next use is later, too.
  };
  /// Finds a part of `bytes` bytes. Nowhere also when the cache is off.
  [[nodiscard]] Found look(const PartKey& key, const PartTimes& times, std::int64_t bytes, Claim claim)
      EXCLUDES(mutex_);
  /// Reads bytes of a part that is here, from byte `from` of it on. False: they are corrupt, or gone by now.
  [[nodiscard]] bool read(const PartKey& key, const Found& found, std::int64_t from, std::span<std::byte> out)
      EXCLUDES(mutex_);
  // These two do nothing and return false while another process has the table locked.
  /// Writes the bytes of a part that was claimed, unless another process has its slot by now.
  [[nodiscard]] bool keep(const PartKey& key, const Found& claimed, std::span<const std::byte> bytes) EXCLUDES(mutex_);
  /// Gives up a part that was claimed.
  [[nodiscard]] bool let_go(const PartKey& key, const Found& claimed) EXCLUDES(mutex_);

  [[nodiscard]] std::string fault() const EXCLUDES(mutex_);  ///< Why the cache is off; empty: it is not.

 private:
  class Held;
  [[nodiscard]] std::uint32_t bucket_of(const PartKey& key) const {
    return static_cast<std::uint32_t>(key.hash() % file_->slots());
  }
  [[nodiscard]] std::optional<std::uint32_t> find(const PartKey& key, PartEntry& entry) REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::uint32_t> find(const PartKey& key, std::uint64_t ticket, PartEntry& entry)
      REQUIRES(mutex_);
  void touch(std::uint32_t slot, PartEntry& entry, const PartTimes& times) REQUIRES(mutex_);
  void link(std::uint32_t slot, PartEntry entry) REQUIRES(mutex_);
  void unlink(std::uint32_t slot, PartEntry entry) REQUIRES(mutex_);
  void remove(std::uint32_t slot, const PartEntry& entry) REQUIRES(mutex_);
  void change(bool begins) REQUIRES(mutex_);
  void count_change() REQUIRES(mutex_);
  void mend() REQUIRES(mutex_);
  void see(std::uint64_t run) REQUIRES(mutex_);
  [[nodiscard]] std::uint32_t processes(std::uint64_t run) const REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::uint64_t> time_of(const PartEntry& entry, const PartTimes& times) const
      REQUIRES(mutex_);
  void list(const PartTimes& times) REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::uint32_t> slot_for(const PartTimes& times, Claim claim) REQUIRES(mutex_);

  const std::unique_ptr<PartFile> file_;
  const Clock clock_;
  mutable Mutex mutex_;
  PartCounts counts_ GUARDED_BY(mutex_);  // since the lock was taken
  FarthestFirst farthest_ GUARDED_BY(mutex_);
  std::int64_t listed_ GUARDED_BY(mutex_) = 0;           // when `farthest_` was filled
  std::uint32_t refused_ GUARDED_BY(mutex_) = 0;         // parts that got no slot since then
  std::uint64_t own_changes_ GUARDED_BY(mutex_) = 0;     // in PartCounts::changes
  std::uint64_t others_changes_ GUARDED_BY(mutex_) = 0;  // the others there, when `farthest_` was filled
  const std::uint64_t process_;                          // differs from those of all others
  std::uint64_t tickets_ GUARDED_BY(mutex_);             // the last one
};

}  // namespace forebay::engine
