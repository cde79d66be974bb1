// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/blocks/batch_layout.h"
#include "engine/memory/recycler.h"
#include "engine/read/block.h"

namespace forebay::engine {

/// The table of the blocks that handles name. A handle holds the number of its block's entry (the slot).
///
///     BlockReader fills a free block ─► queue of ready blocks ─► add ─► entry: `live` handles name its records
///                ▲                                                       │ ├─ compact: few are live; they are copied
///                │                                                       │ │  into a smaller buffer of the same entry
///                │                                                       │ └─ limit_mapped: its pages go back to the
///                │                                                       │    system; its records come from the file
///     free list ─┴── collect: its last batch is finished ◄── retired ◄───┴─ live = 0: no handle names it
///
/// Row blocks enter the same way, from a PartReader. Entries of segments, of rows in memory and of whole files that are
/// not read yet are permanent: their handles are not counted.
///
/// Owned by OpenFiles and used by the order plane only, so it has no lock and no atomic counter. Tickets read the bytes
/// of a block until their batch is finished, even after the block is retired. Functions that need memory throw
/// std::bad_alloc.
class BlockTable {
 public:
  static constexpr std::uint32_t nowhere =
      Handle::nowhere;  ///< The slot of a handle without a block, which has no count.

  /// `room_after`: bytes after each record that are copied together with the record (block.h).
  explicit BlockTable(std::shared_ptr<BufferPool> pool, std::size_t room_after = min_room_after)
      : pool_{std::move(pool)}, room_after_{room_after} {}

  /// Takes over a scanned block and returns its slot. Each record counts as one handle. The stream that reads the block
  /// counts as one more, until `release_stream`.
  std::uint32_t add(std::unique_ptr<Block> block);
  /// Takes over a segment of a file whose records are reached by index, rows in memory, or an empty block for whole
  /// files that are not read, and returns its slot. The entry stays as long as the table; its handles are not counted.
  std::uint32_t add_permanent(std::unique_ptr<Block> block);
  /// Takes over a block of copies of single records of a file, or of single whole files, and returns its slot.
  /// `handles` handles name them.
  std::uint32_t add_copies(std::unique_ptr<Block> block, std::size_t handles);
  /// Whether the records of the slot are not in memory: a segment of a compressed file, which IndexedReader::fetch
  /// reads, or whole files, which WholeFileAccess::fetch reads.
  [[nodiscard]] bool absent(std::uint32_t slot) const {
    return entries_[slot].permanent && !entries_[slot].block->base && !entries_[slot].used.rows;
  }
  /// Whether the slot is a segment of a file that is mapped, whose records are reached by index.
  [[nodiscard]] bool indexed(std::uint32_t slot) const {
    return entries_[slot].permanent && entries_[slot].used.mapping != nullptr;
  }
  [[nodiscard]] const Block& operator[](std::uint32_t slot) const { return *entries_[slot].block; }

  /// The members of a BatchLayout that `hand_over` fills.
  struct Places {
    std::vector<const std::byte*>& payloads;  ///< Address of each record, by row.
    std::vector<UsedBlock>& blocks;           ///< The blocks of the records, each once.
    std::vector<Unmapped>& unmapped;          ///< The records whose pages were given back, by row.
  };
  /// Fills `places` for the records of batch `batch` and releases the handles. The addresses are valid until `collect`
  /// is called with a `finished` larger than `batch`. No handle may be of `nowhere` or of an `absent` slot.
  void hand_over(std::span<const Handle> handles, std::int64_t batch, const Places& places) {
    fill_places<true>(handles, batch, places);
  }
  /// The same without releasing the handles: batches that come later use the records, too.
  void lend(std::span<const Handle> handles, std::int64_t batch, const Places& places) {
    fill_places<false>(handles, batch, places);
  }
  /// The same for handles of row blocks: fills `rows`, the block of each handle, and `blocks`, each block once. Sets
  /// the offset of each handle to the place of its row in that block.
  void hand_over_rows(std::span<Handle> handles, std::int64_t batch, std::vector<const RowBlock*>& rows,
                      std::vector<UsedBlock>& blocks) {
    fill_rows<true>(handles, batch, rows, blocks);
  }
  void lend_rows(std::span<Handle> handles, std::int64_t batch, std::vector<const RowBlock*>& rows,
                 std::vector<UsedBlock>& blocks) {
    fill_rows<false>(handles, batch, rows, blocks);
  }
  /// The place of a handle's row in its row block, which changes when the block is compacted.
  [[nodiscard]] std::size_t row_of(const Handle& handle) const {
    return place_of(entries_[handle.block], handle.ordinal);
  }
  /// Counts the handles off. Their records are not used after batch `batch`.
  void release(std::span<const Handle> handles, std::int64_t batch);
  /// Counts each handle once more: the same record is used a second time.
  void hold(std::span<const Handle> handles);
  /// Counts the stream off: it reads no more records from this block.
  void release_stream(std::uint32_t slot, std::int64_t batch) { release_count(slot, 1, batch); }
  /// Counts off all records of the block from `first_record` on. No handle of them was handed out.
  void release_rest(std::uint32_t slot, std::size_t first_record, std::int64_t batch);

  /// Gives retired blocks to `free` when all batches that used them are before `finished`. Pages that `limit_mapped`
  /// could not give back at once go back to the system under the same condition.
  void collect(std::int64_t finished, Recycler<Block>& free);

  /// Copies the live records out of each streamed block, once, and the live rows out of each row block of a reader, of
  /// which less than a quarter is live. The old memory stays until batch `batch` is finished.
  void compact(std::int64_t batch) { compact(batch, 4); }
  /// The same with row blocks of which less than half is live.
  void compact_more(std::int64_t batch) { compact(batch, 2); }
  /// Bytes of mapped pages that rows of parts in files may have needed, since `forget_file_bytes`.
  [[nodiscard]] std::int64_t file_bytes() const { return file_bytes_; }
  void forget_file_bytes() { file_bytes_ = 0; }
  [[nodiscard]] std::int64_t pinned_bytes() const { return pinned_; }  ///< Bytes of the buffers that entries own.
  /// Limits the mapped pages to about `limit` bytes. The pages of the oldest blocks go back to the system, now or when
  /// the batches that read there are finished; from now on records of these blocks are handed over as `unmapped`.
  void limit_mapped(std::int64_t limit, std::int64_t finished);
  /// Drops the decoded records of the oldest blocks until those of all blocks take at most `limit` bytes. They stay
  /// until batch `batch` is finished.
  void limit_decoded(std::int64_t limit, std::int64_t batch);

 private:
  /// One slot of the table. A free slot has no block.
  struct Entry {
    const std::byte* base = nullptr;  // copy of block->base
    UsedBlock used;
    std::size_t live = 0;       // handles that name the block, plus one for its stream; 0 of a segment
    std::int64_t batch = -1;    // the last batch that a record was handed over to; -1: none
    bool moved = false;         // was compacted: `offsets` has the places of the records
    bool copies = false;        // from add_copies: extents have the offsets of the records
    bool permanent = false;     // from add_permanent: never retired
    bool unmapped = false;      // its mapped pages are not to be read; records are read from the file
    std::uint64_t window = 0;   // the number of its window; 0: none
    std::uint64_t decoded = 0;  // its number in decoded_; 0: it has no decoded records
    // Of a streamed block, by record, and of a row block of a reader, by row: no handle names it. Empty of others.
    std::vector<bool> released;
    std::unordered_map<std::uint32_t, std::uint32_t> held;  // by ordinal, of such blocks: handles besides the first one
    std::vector<std::uint32_t> offsets;  // of a compacted block, by record: where its copy begins; extents stay
    std::unique_ptr<Block> block;
  };
  /// Memory that batches up to `batch` may still read. Exactly one of the pointers is set.
  struct Retired {
    std::unique_ptr<Block> block;
    std::shared_ptr<const void> buffer;  // the old buffer or rows of a compacted block
    std::int64_t batch;
  };
  /// The mapped pages of a scanned block.
  struct Window {
    std::shared_ptr<MappedFile> mapping;
    std::size_t offset, bytes;  // in the mapping
    std::uint32_t slot;
    std::int64_t batch = -1;  // the last batch that reads these pages; -1: none
  };
  /// A block that came with decoded records.
  struct DecodedBlock {
    std::uint32_t slot;
    std::uint64_t number;
  };
  template <bool releases>
  void fill_places(std::span<const Handle> handles, std::int64_t batch, const Places& places);
  template <bool releases>
  void fill_rows(std::span<Handle> handles, std::int64_t batch, std::vector<const RowBlock*>& rows,
                 std::vector<UsedBlock>& blocks);
  [[nodiscard]] Window* window_of(const Entry& entry);                  // null: none, or no longer in windows_
  std::uint32_t enter(std::unique_ptr<Block> block, std::size_t live);  // returns the slot
  void release_count(std::uint32_t slot, std::size_t count, std::int64_t batch);  // retires the block at live = 0
  void retire(std::uint32_t slot, std::int64_t batch);                            // frees the slot
  void compact(std::int64_t batch, std::size_t share);                            // row blocks: less than 1 / share
  void move_survivors(Entry& entry, std::int64_t batch);                          // copies the live records
  void move_rows(Entry& entry, std::int64_t batch);                               // copies the live rows
  [[nodiscard]] static std::size_t place_of(const Entry& entry, std::uint32_t ordinal);  // of a record or row
  [[nodiscard]] static std::size_t fill_run(const Entry& entry, std::span<const Handle> handles, std::size_t row,
                                            std::vector<const std::byte*>& payloads);
  static void let_go(Entry& entry, std::uint32_t ordinal, std::size_t place);
  [[gnu::noinline]] static bool still_held(Entry& entry, std::uint32_t ordinal);
  [[nodiscard]] static std::uint32_t offset_in_copy(const Entry& entry, const Handle& handle);

  std::shared_ptr<BufferPool> pool_;
  const std::size_t room_after_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<Retired> retired_;                 // in the order of `batch`
  std::vector<std::unique_ptr<Block>> unused_;  // retired blocks of which no batch used a record
  std::deque<Window> windows_;                  // in the order in which their blocks were added
  std::uint64_t first_window_ = 1;              // the number of windows_.front()
  std::int64_t mapped_ = 0;                     // bytes in windows_
  std::vector<Window> leaving_;                 // removed from windows_; given back when their batches are finished
  std::int64_t pinned_ = 0;                     // bytes of the buffers that entries own
  std::int64_t file_bytes_ = 0;
  std::deque<DecodedBlock> decoded_;  // in the order in which they were added; those that retired, too
  std::uint64_t last_decoded_ = 0;    // the largest number in decoded_
  std::int64_t decoded_bytes_ = 0;    // bytes of the decoded records of entries
};

}  // namespace forebay::engine
