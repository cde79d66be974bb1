// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/memory/recycler.h"
#include "engine/order/batch_layout.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// Blocks whose records are still named by handles. Only the order plane uses it, so nothing is locked or counted
/// atomically: a block is recycled when no handle names it and the last batch that was cut from it is finished.
class BlockTable {
 public:
  static constexpr std::uint32_t nowhere = UINT32_MAX;  ///< A handle of no block: releasing it does nothing.

  /// `room_after`: bytes that are copied together with each record (block.h).
  explicit BlockTable(std::shared_ptr<BufferPool> pool, std::size_t room_after = min_room_after)
      : pool_{std::move(pool)}, room_after_{room_after} {}

  /// Takes over a scanned block; every record counts as one handle, and the stream that reads it as one more.
  std::uint32_t add(std::unique_ptr<Block> block);
  /// A part of a file whose records are reached by index. It stays as long as the table.
  std::uint32_t add_lasting(std::unique_ptr<Block> block);
  /// Copies of single records of a file, which `handles` handles name.
  std::uint32_t add_parcel(std::unique_ptr<Block> block, std::size_t handles);
  /// Whether the bytes of these records are nowhere in memory yet.
  [[nodiscard]] bool absent(std::uint32_t slot) const { return entries_[slot].lasting && !entries_[slot].block->base; }
  [[nodiscard]] const Block& operator[](std::uint32_t slot) const { return *entries_[slot].block; }

  /// What is said of the records of a batch.
  struct Places {
    std::vector<const std::byte*>& payloads;  ///< Where each lies,
    std::vector<UsedBlock>& blocks;           ///< of which blocks they are, each once,
    std::vector<Unmapped>& unmapped;          ///< and which are better read than looked at there, by row.
  };
  /// Says where the records of batch `batch` lie; the handles are released.
  void hand_over(std::span<const Handle> handles, std::int64_t batch, const Places& places);
  /// The handle's record will not be asked for again once batch `batch` is finished.
  void release(std::span<const Handle> handles, std::int64_t batch);
  void hold(std::span<const Handle> handles);  ///< They are named once more.
  void release_stream(std::uint32_t slot, std::int64_t batch) { release_count(slot, 1, batch); }
  void release_rest(std::uint32_t slot, std::size_t first_record, std::int64_t batch);

  /// Empties the retired blocks that only batches before `finished` used, or no batch, into `free`. Pages of mapped
  /// files that are no longer read, and that only such batches used, go back to the system.
  void collect(std::int64_t finished, Recycler<Block>& free);

  /// Copies the records still wanted out of streamed blocks that hold mostly others.
  void compact(std::int64_t batch);
  [[nodiscard]] std::int64_t pinned_bytes() const { return pinned_; }  ///< In streamed blocks.
  /// Keeps the mapped pages within about `limit` bytes: from the oldest blocks nothing is read there from now on.
  void limit_mapped(std::int64_t limit, std::int64_t finished);

 private:
  struct Entry {
    const std::byte* base = nullptr;  // the block's
    UsedBlock used;
    std::size_t live = 0;     // handles that name it; not counted of one that lasts
    std::int64_t batch = -1;  // the last one it was handed over to
    bool moved = false;       // by compaction: the extents, not the handles, say where the records are
    bool parcel = false;      // as add_parcel says
    bool lasting = false;
    bool unmapped = false;       // its pages were given back, or are about to be
    std::uint64_t window = 0;    // its number; 0: none
    std::vector<bool> released;  // streamed blocks: records that nobody wants
    std::unique_ptr<Block> block;
  };
  struct Retired {
    std::unique_ptr<Block> block;       // or only …
    std::shared_ptr<std::byte> buffer;  // … what one was compacted out of
    std::int64_t batch;
  };
  /// Pages of a block.
  struct Window {
    std::shared_ptr<MappedFile> mapping;
    std::size_t offset, bytes;
    std::uint32_t slot;
    std::int64_t batch = -1;  // the last one that reads there
  };
  [[nodiscard]] Window* window_of(const Entry& entry);
  std::uint32_t enter(std::unique_ptr<Block> block, std::size_t live);
  void release_count(std::uint32_t slot, std::size_t count, std::int64_t batch);
  void retire(std::uint32_t slot, std::int64_t batch);
  void move_survivors(Entry& entry, std::int64_t batch);

  std::shared_ptr<BufferPool> pool_;
  const std::size_t room_after_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<Retired> retired_;                 // in the order of `batch`
  std::vector<std::unique_ptr<Block>> unused_;  // by any batch
  std::deque<Window> windows_;                  // in the order they were scanned
  std::uint64_t first_window_ = 1;              // the number of the front
  std::int64_t mapped_ = 0;                     // bytes in windows_
  std::vector<Window> leaving_;                 // were in windows_, until their batches are finished
  std::int64_t pinned_ = 0;
};

}  // namespace forebay::engine
