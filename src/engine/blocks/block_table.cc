// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/block_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/blocks/copied_rows.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t pages_of_a_fault = std::int64_t{512} << 10;  // bytes that one fault maps where folios are large

}  // namespace

std::uint32_t BlockTable::enter(std::unique_ptr<Block> block, std::size_t live) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Entry& entry = entries_[slot];
  entry.live = live;
  entry.batch = -1;
  entry.moved = entry.copies = entry.unmapped = entry.permanent = false;
  entry.base = block->base;
  entry.used = {.slot = slot,
                .file = block->file,
                .first_record = block->first_record,
                .file_offset = block->file_offset,
                .mapping = block->mapping.get(),
                .files = block->files.get(),
                .rows = block->rows.get(),
                .decoded = block->decoded.rows.get()};
  entry.decoded = 0;
  entry.window = 0;
  entry.released.clear();
  entry.held.clear();
  if (block->buffer || block->row_charge) pinned_ += static_cast<std::int64_t>(block->buffer_bytes);
  entry.block = std::move(block);
  return slot;
}

std::uint32_t BlockTable::add(std::unique_ptr<Block> block) {
  const std::size_t records = block->count();
  const std::uint32_t slot = enter(std::move(block), records + 1);
  Entry& entry = entries_[slot];
  const Block& added = *entry.block;
  if (added.buffer || added.row_schema != nullptr) {
    entry.released.resize(records);
  } else if (added.mapping && !added.kept) {
    const auto offset = static_cast<std::size_t>(added.base - added.mapping->bytes().data());
    entry.window = first_window_ + windows_.size();
    windows_.push_back({added.mapping, offset, added.mapped_bytes, slot});
    mapped_ += static_cast<std::int64_t>(added.mapped_bytes);
  }
  if (added.decoded.rows) {
    entry.decoded = ++last_decoded_;
    decoded_.push_back({slot, entry.decoded});
    decoded_bytes_ += added.decoded.bytes;
  }
  return slot;
}

std::uint32_t BlockTable::add_permanent(std::unique_ptr<Block> block) {
  const std::uint32_t slot = enter(std::move(block), 0);
  Entry& entry = entries_[slot];
  entry.permanent = true;
  entry.unmapped = entry.block->mapping && !entry.block->kept;
  return slot;
}

std::uint32_t BlockTable::add_copies(std::unique_ptr<Block> block, std::size_t handles) {
  const std::uint32_t slot = enter(std::move(block), handles);
  entries_[slot].copies = true;
  return slot;
}

/// The offset of a record in a block that was compacted or that has copies of single records.
std::uint32_t BlockTable::offset_in_copy(const Entry& entry, const Handle& handle) {
  if (entry.moved) return entry.offsets[handle.ordinal];
  const std::vector<std::uint32_t>& ordinals = entry.block->ordinals;
  const auto found = std::lower_bound(ordinals.begin(), ordinals.end(), handle.ordinal);
  return entry.block->records[static_cast<std::size_t>(found - ordinals.begin())].offset;
}

/// Counts a handle of a record off, besides the first one. False: there is none. Kept out of the loops over records.
bool BlockTable::still_held(Entry& entry, std::uint32_t ordinal) {
  const auto found = entry.held.find(ordinal);
  if (found == entry.held.end()) return false;
  if (--found->second == 0) entry.held.erase(found);
  return true;
}

/// Counts a handle of a record off. The record stays when other handles name it.
void BlockTable::let_go(Entry& entry, std::uint32_t ordinal, std::size_t place) {
  if (!entry.held.empty() && still_held(entry, ordinal)) [[unlikely]]
    return;
  entry.released[place] = true;
}

BlockTable::Window* BlockTable::window_of(const Entry& entry) {
  return entry.window < first_window_ ? nullptr : &windows_[entry.window - first_window_];
}

/// Where the records of an entry without copies lie, of the handles from `row` on that name the same one. Returns how
/// many these are; 0: the entry needs a look at each handle.
std::size_t BlockTable::fill_run(const Entry& entry, std::span<const Handle> handles, std::size_t row,
                                 std::vector<const std::byte*>& payloads) {
  if (entry.moved || entry.copies || entry.unmapped || !entry.released.empty()) return 0;
  const std::byte* const base = entry.base;
  const std::uint32_t slot = handles[row].block;
  const Handle* const first = handles.data() + row;
  const Handle* const end = handles.data() + handles.size();
  const std::byte** out = payloads.data() + row;
  const Handle* next = first;
  do {
    *out++ = base + next->offset;
  } while (++next != end && next->block == slot);
  return static_cast<std::size_t>(next - first);
}

template <bool releases>
void BlockTable::fill_places(std::span<const Handle> handles, std::int64_t batch, const Places& places) {
  places.payloads.resize(handles.size());
  places.blocks.clear();
  places.blocks.reserve(std::min(handles.size(), entries_.size()));
  places.unmapped.clear();
  std::size_t run = 0;
  for (std::size_t row = 0; row < handles.size(); row += run) {
    const Handle& handle = handles[row];
    Entry& entry = entries_[handle.block];
    if (entry.batch != batch) {
      entry.batch = batch;
      places.blocks.push_back(entry.used);
      if (Window* const window = window_of(entry)) window->batch = batch;
    }
    run = fill_run(entry, handles, row, places.payloads);
    if (run == 0) {
      run = 1;
      places.payloads[row] = entry.base + (entry.moved || entry.copies ? offset_in_copy(entry, handle) : handle.offset);
      if (entry.unmapped) {
        places.unmapped.push_back({.row = static_cast<std::int64_t>(row),
                                   .file = entry.used.file,
                                   .offset = entry.used.file_offset + handle.offset,
                                   .mapping = entry.block->mapping.get()});
      }
      if constexpr (releases) {
        if (!entry.released.empty()) let_go(entry, handle.ordinal, handle.ordinal);
      }
    }
    if constexpr (releases) {
      if (!entry.permanent && (entry.live -= run) == 0) retire(handle.block, batch);
    }
  }
}
template void BlockTable::fill_places<true>(std::span<const Handle>, std::int64_t, const Places&);
template void BlockTable::fill_places<false>(std::span<const Handle>, std::int64_t, const Places&);

template <bool releases>
void BlockTable::fill_rows(std::span<Handle> handles, std::int64_t batch, std::vector<const RowBlock*>& rows,
                           std::vector<UsedBlock>& blocks) {
  rows.resize(handles.size());
  blocks.clear();
  for (std::size_t row = 0; row < handles.size(); ++row) {
    Entry& entry = entries_[handles[row].block];
    if (entry.batch != batch) {
      entry.batch = batch;
      blocks.push_back(entry.used);
    }
    rows[row] = entry.used.rows;
    if (entry.used.files != nullptr) {
      const bool follows = row > 0 && handles[row].block == handles[row - 1].block &&
                           handles[row].ordinal == handles[row - 1].ordinal + 1;
      file_bytes_ += handles[row].length + (follows ? 0 : pages_of_a_fault);
    }
    const bool counted = !entry.released.empty();
    const std::size_t place = counted ? place_of(entry, handles[row].ordinal) : 0;
    if (counted) handles[row].offset = static_cast<std::uint32_t>(place);
    if constexpr (releases) {
      if (counted) let_go(entry, handles[row].ordinal, place);
      if (!entry.permanent && --entry.live == 0) retire(handles[row].block, batch);
    }
  }
}
template void BlockTable::fill_rows<true>(std::span<Handle>, std::int64_t, std::vector<const RowBlock*>&,
                                          std::vector<UsedBlock>&);
template void BlockTable::fill_rows<false>(std::span<Handle>, std::int64_t, std::vector<const RowBlock*>&,
                                           std::vector<UsedBlock>&);

void BlockTable::release(std::span<const Handle> handles, std::int64_t batch) {
  for (std::size_t i = 0; i < handles.size();) {
    const std::uint32_t slot = handles[i].block;
    if (slot == nowhere) {
      ++i;
      continue;
    }
    Entry& entry = entries_[slot];
    std::size_t run = 0;
    for (; i + run < handles.size() && handles[i + run].block == slot; ++run) {
      const std::uint32_t ordinal = handles[i + run].ordinal;
      if (!entry.released.empty()) let_go(entry, ordinal, place_of(entry, ordinal));
    }
    i += run;
    release_count(slot, run, batch);
  }
}

void BlockTable::hold(std::span<const Handle> handles) {
  for (const Handle& handle : handles) {
    if (handle.block == nowhere || entries_[handle.block].permanent) continue;
    Entry& entry = entries_[handle.block];
    ++entry.live;
    if (!entry.released.empty()) ++entry.held[handle.ordinal];
  }
}

void BlockTable::release_rest(std::uint32_t slot, std::size_t first_record, std::int64_t batch) {
  Entry& entry = entries_[slot];
  const std::size_t first = place_of(entry, static_cast<std::uint32_t>(first_record));
  const std::size_t count = entry.block->count() - first;
  if (!entry.released.empty())
    std::fill(entry.released.begin() + static_cast<std::ptrdiff_t>(first), entry.released.end(), true);
  release_count(slot, count, batch);
}

void BlockTable::release_count(std::uint32_t slot, std::size_t count, std::int64_t batch) {
  Entry& entry = entries_[slot];
  if (entry.permanent) return;
  entry.live -= count;
  if (entry.live == 0) retire(slot, batch);
}

void BlockTable::retire(std::uint32_t slot, std::int64_t batch) {
  Entry& entry = entries_[slot];
  if (entry.block->buffer || entry.block->row_charge) pinned_ -= static_cast<std::int64_t>(entry.block->buffer_bytes);
  decoded_bytes_ -= entry.block->decoded.bytes;
  entry.decoded = 0;
  if (entry.batch < 0) {
    unused_.push_back(std::move(entry.block));
  } else {
    retired_.push_back({.block = std::move(entry.block), .buffer = nullptr, .batch = batch});
  }
  free_slots_.push_back(slot);
}

void BlockTable::collect(std::int64_t finished, Recycler<Block>& free) {
  const auto recycle = [&](std::unique_ptr<Block>& block) {
    if (!block || !block->ordinals.empty()) return;  // copies of single records: no scan fills such a block again
    block->clear();
    free.give(std::move(block));
  };
  for (auto& block : unused_) recycle(block);
  unused_.clear();
  for (; !retired_.empty() && retired_.front().batch < finished; retired_.pop_front()) recycle(retired_.front().block);
  std::erase_if(leaving_, [&](const Window& window) {
    if (window.batch >= finished) return false;
    window.mapping->forget(window.offset, window.bytes);
    return true;
  });
}

void BlockTable::compact(std::int64_t batch, std::size_t share) {
  for (Entry& entry : entries_) {
    if (!entry.block || entry.released.empty() || entry.moved) continue;
    if (entry.block->rows) {
      if (entry.live * share < entry.block->count()) move_rows(entry, batch);
    } else if (entry.live * 4 < entry.block->records.size()) {
      move_survivors(entry, batch);
    }
  }
}

/// The place of a record or row in its block. A row block that was compacted lists the ordinals of its rows.
std::size_t BlockTable::place_of(const Entry& entry, std::uint32_t ordinal) {
  const std::vector<std::uint32_t>& ordinals = entry.block->ordinals;
  if (ordinals.empty()) return ordinal;
  return static_cast<std::size_t>(std::ranges::lower_bound(ordinals, ordinal) - ordinals.begin());
}

/// Unlike a streamed block, a row block may be compacted again and again.
void BlockTable::move_rows(Entry& entry, std::int64_t batch) {
  Block& block = *entry.block;
  std::vector<std::uint32_t> places, ordinals;
  for (std::size_t i = 0; i < entry.released.size(); ++i) {
    if (entry.released[i]) continue;
    places.push_back(static_cast<std::uint32_t>(i));
    ordinals.push_back(block.ordinals.empty() ? places.back() : block.ordinals[i]);
  }
  if (places.empty()) return;  // the stream alone counts: the block goes when it moves on
  CopiedRows kept = copy_rows(*block.row_schema, *block.rows, places);
  kept.bytes += static_cast<std::int64_t>(ordinals.capacity() * sizeof(std::uint32_t));
  auto charge = pool_->charge(kept.bytes, MemoryUse::scan);
  // Batches that are not finished still point into the old rows.
  retired_.push_back({.block = nullptr,
                      .buffer = std::make_shared<std::pair<std::shared_ptr<const RowBlock>, std::shared_ptr<void>>>(
                          block.rows, block.row_charge),
                      .batch = batch});
  pinned_ += kept.bytes - static_cast<std::int64_t>(block.buffer_bytes);
  block.buffer_bytes = static_cast<std::size_t>(kept.bytes);
  block.rows = std::move(kept.rows);
  block.row_charge = std::move(charge);
  block.ordinals = std::move(ordinals);
  entry.used.rows = block.rows.get();
  entry.released.assign(places.size(), false);
}

void BlockTable::move_survivors(Entry& entry, std::int64_t batch) {
  Block& block = *entry.block;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < block.records.size(); ++i) {
    if (!entry.released[i]) bytes += block.records[i].length + room_after_;
  }
  auto kept = pool_->lend(std::max<std::size_t>(bytes, 1), MemoryUse::scan);
  std::size_t size = 0;
  entry.offsets.assign(block.records.size(), 0);
  for (std::size_t i = 0; i < block.records.size(); ++i) {
    if (entry.released[i]) continue;
    // The extents stay: handles that a stream still makes of them say where the records lie in the file.
    const Extent extent = block.records[i];
    std::memcpy(kept.get() + size, block.base + extent.offset, extent.length + room_after_);
    entry.offsets[i] = static_cast<std::uint32_t>(size);
    size += extent.length + room_after_;
  }
  pinned_ += static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(block.buffer_bytes);
  // Batches that are not finished still point into the old buffer.
  retired_.push_back({.block = nullptr, .buffer = std::move(block.buffer), .batch = batch});
  entry.base = block.base = kept.get();
  block.buffer = std::move(kept);
  block.buffer_bytes = bytes;
  entry.moved = true;
}

void BlockTable::limit_decoded(std::int64_t limit, std::int64_t batch) {
  for (; !decoded_.empty(); decoded_.pop_front()) {
    Entry& oldest = entries_[decoded_.front().slot];
    if (oldest.decoded != decoded_.front().number) continue;
    if (decoded_bytes_ <= limit) return;
    decoded_bytes_ -= oldest.block->decoded.bytes;
    retired_.push_back({.block = nullptr, .buffer = std::move(oldest.block->decoded.rows), .batch = batch});
    oldest.block->decoded = {};
    oldest.used.decoded = nullptr;
    oldest.decoded = 0;
  }
}

void BlockTable::limit_mapped(std::int64_t limit, std::int64_t finished) {
  for (; mapped_ > limit && windows_.size() > 1; windows_.pop_front(), ++first_window_) {
    Window& oldest = windows_.front();
    Entry& entry = entries_[oldest.slot];
    if (entry.window == first_window_) entry.unmapped = true;
    mapped_ -= static_cast<std::int64_t>(oldest.bytes);
    if (oldest.batch < finished) {
      oldest.mapping->forget(oldest.offset, oldest.bytes);
    } else {
      leaving_.push_back(std::move(oldest));
    }
  }
}

}  // namespace forebay::engine
