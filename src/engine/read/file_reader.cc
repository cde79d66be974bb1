// SPDX-License-Identifier: Apache-2.0
#include "engine/read/file_reader.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/core.h>

#include "columns/gather.h"
#include "engine/memory/catch_all.h"

namespace forebay::engine {

namespace {

// Bytes. A mapped block is small enough that its bytes are still in the second-level cache when its tickets run.
constexpr std::size_t mapped_block = std::size_t{256} << 10;
constexpr std::size_t streamed_block = std::size_t{512} << 10;
constexpr std::size_t min_streamed_block = std::size_t{32} << 10;
constexpr std::size_t min_plain_block = std::size_t{4} << 10;
constexpr std::int64_t passed_at_once = std::int64_t{256} << 10;
constexpr std::int64_t read_ahead = std::int64_t{4} << 20;
constexpr std::int64_t small_file = std::int64_t{64} << 10;  // is read at once, so nothing is read ahead
constexpr std::int64_t read_step = std::int64_t{1} << 20;
// Bytes that one call of `scan` handles at most: a run can be stopped only between two calls.
constexpr std::size_t searched_at_once = mapped_block + mapped_block / 8;  // larger for a larger record
constexpr std::size_t padding_at_once = std::size_t{8} << 20;
constexpr std::size_t streamed_at_once = std::size_t{16} << 20;

Error too_large(std::size_t bytes, std::int64_t budget) {
  return {Code::data, Detail::resource_exhausted,
          fmt::format("a record needs {} bytes, more than the memory budget of {} bytes; raise `memory`, or lower "
                      "max_record_bytes to take such records for corruption",
                      bytes, budget)};
}

constexpr std::string_view ends_early = "it ends before a record of its index";

Error file_changed(std::string_view how) {
  return {Code::data, Detail::failed_precondition, fmt::format("the file changed while it was read: {}", how)};
}

}  // namespace

FileReader::FileReader(const Source& source, std::uint32_t file, std::shared_ptr<BufferPool> pool, PassCache& kept,
                       Corruption corruption, RecordCheck check)
    : source_{source}, number_{file}, pool_{std::move(pool)}, pass_cache_{kept}, check_{std::move(check)} {
  if (corruption == Corruption::find) finder_.emplace(source.format);
}

void FileReader::find(Block& block) {
  block.file = number_;
  block.first_record = record_;
  Result<void> done;
  const auto thrown = catch_all(
      [&] {
        if (!opened_) done = open();
        if (done.ok() && opened_ && start_.index) {
          const Start start = std::exchange(start_, {});
          done = go_on_from(*start.index, start.record);
          block.first_record = record_;
        }
        if (done.ok() && content_) {
          take_kept(block);
        } else if (done.ok() && opened_) {
          done = mapping_ ? scan_mapped(block) : scan_streamed(block);
        }
        if (done.ok() && block.last) done = file_->unchanged();
        for (Skip& skip : block.skips) {
          const std::int64_t record = record_ + static_cast<std::int64_t>(skip.index);
          skip.error = skip.error.at(Place{.file = source_.files[number_], .record = record});
        }
      },
      no_memory_for_scan);
  if (thrown) {  // the caller gets a block with the error, never an exception
    block.forget_records();
    done = *thrown;
  }
  record_ += static_cast<std::int64_t>(block.records.size());
  block.file_end = offset_;
  block.bytes_read = read_so_far() - bytes_read_;
  bytes_read_ += block.bytes_read;
  block.fraction = fraction();
  if (!done.ok()) block.error = explained(done.error(), record_, offset_);
}

/// Corrupt compressed data becomes a skipped range and ends the file; other faults stay in `broken`.
void FileReader::find_streamed(Block& block, std::span<const std::byte> bytes, std::optional<Error>& broken,
                               Scanned& found) {
  const bool corrupt = broken && broken->code() == Code::data;
  if (corrupt) stream_ended_ = true;
  const CorruptionFinder::Window window{.bytes = bytes,
                                        .offset = offset_,
                                        .limit = std::numeric_limits<std::size_t>::max(),
                                        .last = stream_ended_,
                                        .broken = corrupt ? &*broken : nullptr};
  block.skips.clear();
  found = finder_->find(window, block.records, block.skips);
  block.checked = bytes;
  if (corrupt) broken.reset();
}

Result<void> FileReader::scan_mapped(Block& block) {
  const std::span<const std::byte> bytes = mapping_->bytes().subspan(static_cast<std::size_t>(offset_));
  if (fresh_ && file_->size() > small_file && offset_ + read_ahead > advised_) {
    advised_ = std::max(advised_, offset_);
    const std::int64_t wanted = offset_ + read_ahead + read_step;
    mapping_->will_need(static_cast<std::size_t>(advised_), static_cast<std::size_t>(wanted - advised_));
    advised_ = wanted;
  }
  block.base = bytes.data();
  block.file_offset = offset_;
  block.mapping = mapping_;
  block.kept = kept_;
  Scanned found;
  FOREBAY_DO(find_mapped(block, bytes, found));
  if (mapping_->corrupt()) return file_changed("it was cut short");
  // Pages without a record are not read again. There may be gigabytes of them before the next record.
  if (block.records.empty()) mapping_->forget(static_cast<std::size_t>(offset_), found.consumed);
  block.mapped_bytes = block.records.empty() ? 0 : found.consumed;
  offset_ += static_cast<std::int64_t>(found.consumed);
  block.last = offset_ == file_->size();
  if (block.last && collected_) pass_cache_.keep(number_, *mapping_, std::move(*collected_));
  return {};
}

/// Copies bytes of the mapping to window_, where they are searched. Valid until the next call.
std::span<const std::byte> FileReader::private_window(std::span<const std::byte> bytes) {
  if (window_.capacity < bytes.size()) {
    window_ = {};
    window_ = {.bytes = pool_->lend(bytes.size(), MemoryUse::scan), .capacity = bytes.size()};
  }
  columns::copy_bytes(bytes, window_.bytes.get(), pool_.get());
  return {window_.bytes.get(), bytes.size()};
}

/// Finds the records of the next block, or takes the frames of an earlier pass.
Result<void> FileReader::find_mapped(Block& block, std::span<const std::byte> bytes, Scanned& found) {
  if (finder_) {
    const std::size_t size = std::min(std::max(searched_at_once, searched_next_), bytes.size());
    const bool last = size == bytes.size();
    const auto window = private_window(bytes.first(size));
    found = finder_->find({.bytes = window, .offset = offset_, .limit = mapped_block, .last = last}, block.records,
                          block.skips);
    if (!block.records.empty()) {  // the next block is found while this one is checked
      block.checked = window;
      block.copy = std::move(window_.bytes);
      window_ = {};
    }
    searched_next_ = found.consumed > 0 ? 0 : std::max(found.wanted, size + size / 4);
    return {};
  }
  if (frames_) {
    if (frame_blocks_ == frames_->blocks.size()) return file_changed("it goes on behind the records of the last pass");
    const Frames::Block& known = frames_->blocks[frame_blocks_++];
    const auto extents = std::span{frames_->extents}.subspan(frame_extents_, known.records);
    block.records.assign(extents.begin(), extents.end());
    frame_extents_ += known.records;
    found.consumed = known.consumed;
    return {};
  }
  FOREBAY_TRY(found, find_records(bytes, true, mapped_block, block.records));
  if (collected_) collect_frames(block, found.consumed);
  return {};
}

/// Finds records. After the last one, consumes the padding, at most 8 MiB in a call.
Result<Scanned> FileReader::find_records(std::span<const std::byte> bytes, bool last, std::size_t limit,
                                         std::vector<Extent>& records) {
  if (!unless_padding_) {
    auto scanned = source_.format->scan(bytes, offset_, last, limit, records);
    if (scanned.ok() && source_.format->compares()) scanned = compared(bytes, *scanned, records);
    if (scanned.ok()) return scanned;
    const auto consumed = static_cast<std::size_t>(scanned.error().place().offset - offset_);
    if (consumed == bytes.size() || source_.format->padding(bytes.subspan(consumed).first(1)) == 0) return scanned;
    unless_padding_ = scanned.error();
    if (consumed > 0) return Scanned{.consumed = consumed};
  }
  const auto piece = bytes.first(std::min(bytes.size(), padding_at_once));
  if (source_.format->padding(piece) < piece.size()) return *unless_padding_;
  return Scanned{.consumed = piece.size()};
}

/// Compares the records of a scan with those before them. After a failure, `records` has those before the bad one.
Result<Scanned> FileReader::compared(std::span<const std::byte> bytes, Scanned scanned, std::vector<Extent>& records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto good = source_.format->compare(bytes.subspan(records[i].offset, records[i].length), compared_);
    if (good.ok()) continue;
    const std::int64_t offset = source_.format->record_offset(offset_ + records[i].offset);
    records.resize(i);
    return good.error().at(Place{.offset = offset});
  }
  return scanned;
}

void FileReader::collect_frames(const Block& block, std::size_t consumed) {
  Frames& frames = *collected_;
  if (frames.blocks.empty() && !unless_padding_) {  // guess: the other blocks have about as many records
    const auto blocks = mapping_->bytes().size() / std::max<std::size_t>(consumed, 1) + 2;
    frames.blocks.reserve(blocks);
    frames.extents.reserve((block.records.size() + block.records.size() / 16 + 1) * blocks);
  }
  frames.blocks.push_back({.records = block.records.size(), .consumed = consumed});
  frames.extents.insert(frames.extents.end(), block.records.begin(), block.records.end());
  if (frames.bytes() > pass_cache_.room()) collected_.reset();
}

/// Reads the next bytes of the stream into `out` and returns their number.
///
/// Fewer bytes than `out` has: the stream has ended, the inflater pauses, bytes were asked for and have not come, or
/// there is a fault. After bytes, a fault is
/// not reported yet, and the next call meets it again. Exception: without Corruption::find, a corrupt compressed
/// stream is reported at once, as its bytes that were read before may be wrong.
std::size_t FileReader::fill(std::span<std::byte> out, std::optional<Error>& fault) {
  std::size_t size = 0;
  if (requested_) requested_->advance(next_read());
  while (size < out.size() && !stream_ended_) {
    if (requested_ && !inflater_ && !requested_->ready(position_)) break;
    std::span<std::byte> room = out.subspan(size);
    if (inflater_ && unverified_) {
      const std::int64_t left = std::max<std::int64_t>(unverified_->begin - inflater_->produced(), 0);
      room = room.first(std::min(room.size(), static_cast<std::size_t>(left)));
      if (room.empty()) {
        if (size == 0) fault = unverified_->fault;
        break;
      }
    }
    auto count = inflater_ ? inflater_->read(*file_, room) : file_->read_some(room, position_);
    if (!count.ok()) {
      const bool doubtful = !finder_ && inflater_ && inflater_->sound() < inflater_->produced();
      if (size == 0 || doubtful) fault = count.error();
      break;
    }
    if (!inflater_) position_ += static_cast<std::int64_t>(*count);
    stream_ended_ = inflater_ ? inflater_->ended() : *count == 0;
    size += *count;
    if (*count == 0) break;
  }
  if (requested_) requested_->advance(next_read());
  return size;
}

/// Bytes of a new streamed block: 512 KiB. Less for a small file, as thousands of them may be open.
std::size_t FileReader::usual_block() const {
  if (offset_ > 0) return streamed_block;
  const auto size = static_cast<std::size_t>(file_->size());
  if (!inflater_) return std::bit_ceil(std::clamp(size + 1, min_plain_block, streamed_block));
  return std::bit_ceil(std::clamp(8 * size, min_streamed_block, streamed_block));
}

Result<void> FileReader::scan_streamed(Block& block) {
  auto& [buffer, size, capacity] = filling_;
  if (!buffer) {
    // carry_ is copied once for each block, so the block grows with it.
    const std::size_t usual = usual_block();
    capacity = std::max(usual, carry_.size() + carry_.size() / 4 + usual / 2);
    buffer = pool_->lend(capacity, MemoryUse::scan);
    size = carry_.size();
    std::copy(carry_.begin(), carry_.end(), buffer.get());
  }
  block.file_offset = offset_;
  Scanned found;
  std::optional<Error> broken;
  for (std::size_t left = streamed_at_once;;) {
    const std::size_t filled = fill({buffer.get() + size, std::min(left, capacity - size)}, broken);
    size += filled;
    left -= filled;
    if (size < capacity && !broken && !stream_ended_) return {};
    if (broken && !finder_ && inflater_) {  // bytes before a corrupt stream are good
      size = std::min(size, static_cast<std::size_t>(std::max<std::int64_t>(0, inflater_->sound() - offset_)));
    }
    block.records.clear();
    if (finder_) {
      find_streamed(block, {buffer.get(), size}, broken, found);
    } else {
      auto scanned = find_records({buffer.get(), size}, stream_ended_ && !broken, size, block.records);
      if (!scanned.ok()) {
        broken = scanned.error();
        break;
      }
      found = *scanned;
    }
    if (broken || found.consumed > 0 || stream_ended_) break;
    // The record is larger than the block. The block grows with the bytes that are read, not to the length that the
    // header claims, which may be corrupt.
    if (static_cast<std::int64_t>(found.wanted) > pool_->limit()) return too_large(found.wanted, pool_->limit());
    const std::size_t larger = std::min(std::max(found.wanted, size + size / 4 + 1), 2 * capacity);
    auto grown = pool_->lend(larger, MemoryUse::scan);
    columns::copy_bytes({buffer.get(), size}, grown.get(), pool_.get());
    buffer = std::move(grown);
    capacity = larger;
  }
  block.base = buffer.get();
  block.buffer = std::move(buffer);
  block.buffer_bytes = capacity;
  offset_ += static_cast<std::int64_t>(found.consumed);
  if (broken) return *broken;
  carry_over({block.base + found.consumed, block.base + size});
  block.last = stream_ended_ && carry_.empty();
  if (found_) collect_content(block);
  return {};
}

void FileReader::collect_content(const Block& block) {
  const bool empty = block.records.empty();
  const std::size_t bytes = empty ? 0 : block.buffer_bytes + block.records.size() * sizeof(Extent);
  auto claim = pass_cache_.claim(static_cast<std::int64_t>(bytes));
  if (!claim) return found_.reset();
  found_->blocks.push_back({.bytes = empty ? nullptr : block.buffer,
                            .records = block.records,
                            .end = offset_,
                            .read = read_so_far(),
                            .claim = std::move(claim)});
  if (block.last) pass_cache_.keep(number_, file_->identity(), *std::move(found_));
}

void FileReader::take_kept(Block& block) {
  const Content::Block& known = content_->blocks[content_blocks_++];
  block.base = known.bytes.get();
  block.content = known.bytes;
  block.records = known.records;
  block.file_offset = offset_;
  block.last = content_blocks_ == content_->blocks.size();
  offset_ = known.end;
}

Result<void> FileReader::skip_to(const RecordIndex& index, std::int64_t record) {
  Result<void> done;
  auto thrown = catch_all([&] { done = open_and_wait(); }, no_memory_for_scan);
  if (thrown) done = *thrown;
  FOREBAY_DO(std::move(done).at(Place{.file = source_.files[number_]}));
  thrown = catch_all([&] { done = go_on_from(index, record); }, no_memory_for_scan);
  if (thrown) done = *thrown;
  return std::move(done).at(Place{.file = source_.files[number_], .record = record, .offset = index.offset(record)});
}

Result<void> FileReader::go_on_from(const RecordIndex& index, std::int64_t record) {
  frames_.reset();
  collected_.reset();
  if (content_) FOREBAY_DO(open_compressed());
  content_.reset();
  found_.reset();
  offset_ = source_.format->record_offset(index.offset(record));
  record_ = record;
  advised_ = position_ = offset_;
  if (!inflater_ && requested_) requested_->go_to(std::min(offset_, file_->size()));
  if (!inflater_) return offset_ <= file_->size() ? Result<void>{} : file_changed(ends_early);
  const io::RestartPoint point = index.point_before(offset_);
  if (requested_) requested_->go_to(point.compressed);
  FOREBAY_TRY(inflater_, io::Inflater::resume(compression_, point, trailing()));
  inflater_->limit(source_.max_decompressed_bytes);
  std::vector<std::byte> passed(static_cast<std::size_t>(std::min(offset_ - point.uncompressed, passed_at_once)));
  for (std::int64_t at = point.uncompressed; at < offset_;) {
    const auto wanted = static_cast<std::size_t>(std::min(offset_ - at, passed_at_once));
    pool_->look();
    FOREBAY_TRY(const std::size_t got, inflater_->read(*file_, std::span{passed}.first(wanted)));
    if (got == 0 && inflater_->ended()) return file_changed(ends_early);
    if (requested_) requested_->advance(next_read());
    if (got == 0 && !ready()) wait_a_little();
    at += static_cast<std::int64_t>(got);
  }
  return {};
}

std::int64_t FileReader::read_so_far() const {
  if (content_) return content_blocks_ == 0 ? 0 : content_->blocks[content_blocks_ - 1].read;
  if (inflater_) return inflater_->consumed();
  return mapping_ ? offset_ : position_;
}

double FileReader::fraction() const {
  if (!file_ || file_->size() == 0) return opened_ ? 1.0 : 0.0;
  return std::min(1.0, static_cast<double>(read_so_far()) / static_cast<double>(file_->size()));
}

}  // namespace forebay::engine
