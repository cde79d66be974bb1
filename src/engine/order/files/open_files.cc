// SPDX-License-Identifier: Apache-2.0
#include "engine/order/files/open_files.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"
#include "engine/order/files/reader_state.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t ahead_per_thread = std::int64_t{64} << 20;  // bytes
constexpr std::int64_t min_compacted = std::int64_t{16} << 20;     // bytes
constexpr std::int64_t always_granted = std::int64_t{64} << 10;    // bytes that `charge` grants with any budget

/// Writes the handles of a block's records, whose first has this ordinal.
void name_extents(std::uint32_t slot, std::size_t first, std::span<const Extent> records, std::span<Handle> out) {
  auto ordinal = static_cast<std::uint32_t>(first);
  Handle* handle = out.data();
  for (const Extent& extent : records) *handle++ = {slot, ordinal++, extent.offset, extent.length};
}

/// Whether the records of every file with a stored index, or of every run of whole files, may be named instead of
/// scanned while a restart catches up.
bool names_records(const Program& program) {
  const bool looks = (program.source.files_a_part > 0 && !program.early.empty()) ||  // they have no index
                     !program.early.frame_attributes.empty();                        // which are not stored
  return !skips_early(program.on_corrupt) && !looks;
}

/// Whether an order reaches rows by number that come one after the other.
bool collects_rows(const Program& program) {
  const bool collects = program.source.rows && program.source.rows->collects && !program.source.rows->resident();
  return collects && reaches_by_number(program);
}

}  // namespace

OpenFiles::OpenFiles(const Program& program, std::shared_ptr<BufferPool> pool, RunMeans means,
                     std::function<void()> wake)
    : program_{program},
      pool_{pool},
      means_{std::move(means)},
      collects_{collects_rows(program)},
      requests_{std::make_shared<Requests>(pool_, means_.requests, program.source.rows ? nullptr : wake)},
      ahead_limit_{std::min(pool->limit() / 2, ahead_per_thread * means_.threads)},
      pass_cache_{pool->limit() / 2, program.epochs != 1},
      versions_{program.source.files},
      table_{pool, room_after(program.source)},
      access_{program, pool, pass_cache_, versions_, table_, means_, requests_},
      whole_files_{program, std::move(pool), table_, requests_},
      own_rows_{program, means_.processes},
      catches_up_by_name_{names_records(program)},
      calls_{wake},
      compact_from_{min_compacted},
      skips_{program.on_corrupt},
      looks_{!program.source.rows && looks_into_records(program)},
      wake_{wake} {
  requests_->know(program.known);
  // Loader::start has opened it before, and told of faults.
  if (auto cache = PartCache::open(means_.cache, program.source.files); cache.ok() && *cache)
    requests_->keep_in(std::make_shared<RunCache>(*std::move(cache), pool_));
  if (program.source.rows) begin_rows(*program.source.rows, std::move(wake));
}

Reader::Stream OpenFiles::open(Handle file) {
  if (program_.source.rows) return rows_ ? rows_->open(file.block) : row_streams_->open(file.block, catching_up_);
  if (!announced_.empty() && announced_.front()->number == file.block) {
    const Stream number = open_.add(std::move(announced_.front()));
    announced_.pop_front();
    return number;
  }
  for (const auto& other : announced_) leave(*other);  // the order opens another file than it announced
  announced_.clear();
  auto opened = begin_part(file.block);
  const Stream number = open_.add(opened);
  if (opened->named) return number;
  const Lock lock{mutex_};
  waiting_.push_back(std::move(opened));
  return number;
}

void OpenFiles::announce(Handle file) {
  if (catching_up_ || program_.source.rows || !open_.used())
    return;  // an order that never opened a file reads by index
  announced_.push_back(begin_part(file.block));
  if (announced_.back()->named) return;
  const Lock lock{mutex_};
  waiting_.push_back(announced_.back());
}

Result<std::size_t> OpenFiles::read(Stream stream, std::span<Handle> out) {
  if (program_.source.rows) return read_rows(stream, out);
  ReaderState& file = *open_[stream];
  if (file.named && !catching_up_ && !file.own) FOREBAY_DO(scan_from_here(open_[stream]));
  if (file.named) return read_indexed(file, out);
  while (!file.left) {
    if (file.block) {
      const std::uint32_t slot = *file.block;
      const Block& block = table_[slot];
      std::size_t end = block.records.size();
      if (file.next_skip < block.skips.size()) {
        const Skip& skip = block.skips[file.next_skip];
        if (skip.index == file.next_record) {  // counted only when the record after the skip is asked for
          FOREBAY_DO(pass_over(file, skip));
          continue;
        }
        end = skip.index;
      }
      const std::size_t count = std::min(out.size(), end - file.next_record);
      name_extents(slot, file.next_record, std::span{block.records}.subspan(file.next_record, count), out);
      file.next_record += count;
      if (count > 0) {
        skips_.good(static_cast<std::int64_t>(count));
        return count;
      }
      if (block.error) {
        FOREBAY_DO(fail(file, *block.error));
        continue;
      }
    }
    FOREBAY_TRY(const bool more, next_block(file));
    if (!more) return std::size_t{0};
  }
  return std::size_t{0};
}

Result<Function::Integers> OpenFiles::call(const AskedFunction& asked, std::span<const std::int64_t> question) {
  auto answer = calls_.ask(asked, question);
  if (!answer.ok()) return answer.error().at(fmt::format("function '{}'", asked.name));
  if (!*answer) return nothing_yet("no answer of a function yet");
  return **std::move(answer);
}

bool OpenFiles::interrupt() {
  if (deadline_ && std::chrono::steady_clock::now() > *deadline_) return interrupted_ = true;
  if (stop_ && stop_()) return interrupted_ = true;
  const Lock lock{mutex_};
  return stopped_;
}

/// Counts a skip and continues after it, or leaves the file when the policy is skip_file. Fails when a budget is
/// exceeded.
Result<void> OpenFiles::pass_over(ReaderState& file, const Skip& skip) {
  const bool leaves = program_.on_corrupt.policy == Corrupt::skip_file && program_.source.files_a_part == 0;
  FOREBAY_DO(skips_.add(skip));
  ++file.skips;
  {
    const Lock lock{mutex_};
    skipped_ = skips_.counts();
  }
  if (leaves) return leave(file), Result<void>{};
  ++file.next_skip;
  if (skip.what != Skip::What::record) return {};
  if (file.named) return ++file.left_out, Result<void>{};
  const Handle record{.block = *file.block, .ordinal = static_cast<std::uint32_t>(skip.index)};
  table_.release({&record, 1}, batch_);
  ++file.next_record;
  return {};
}

/// Ends the file at an error. Fails with that error, unless the policy skips files that cannot be read.
Result<void> OpenFiles::fail(ReaderState& file, const Error& error) {
  if (!passes_over_file(program_.on_corrupt, error)) return error;
  return pass_over(file, {.what = Skip::What::file, .index = 0, .offset = 0, .bytes = 0, .error = error});
}

void OpenFiles::leave(ReaderState& file) {
  file.left = true;
  if (file.block) {
    table_.release_rest(*file.block, file.next_record, batch_);
    table_.release_stream(*file.block, batch_);
    file.block.reset();
  }
  const Lock lock{mutex_};
  file.closed = true;
  for (const auto& block : file.ready) ahead_bytes_ -= block ? static_cast<std::int64_t>(block->buffer_bytes) : 0;
  extra_ahead_ -= extra_of(file);
  file.ready.clear();
  std::erase_if(waiting_, [&](const auto& waiting) { return waiting.get() == &file; });
}

Result<bool> OpenFiles::next_block(ReaderState& file) {
  if (interrupt()) return Error{Code::cancelled, "interrupted"};
  FOREBAY_DO(check_pinned(file));
  if (file.block && !leave_block(file)) return false;
  FOREBAY_TRY(std::unique_ptr<Block> block, wait_for_block(file));
  if (!block) return false;
  files_done_ += block->fraction - file.fraction;
  file.fraction = block->fraction;
  file.next_record = 0;
  file.next_skip = 0;
  file.block = table_.add(std::move(block));
  return true;
}

/// All records of the file's block were read. Returns false when it was the last of the file.
bool OpenFiles::leave_block(ReaderState& file) {
  const bool more = !table_[*file.block].last;
  table_.release_stream(*file.block, batch_);
  file.block.reset();
  table_.collect(finished_, free_blocks_);  // here too: one decision may read any number of blocks
  limit_mapped();
  return more;
}

/// Returns the next block of the file, or null at its end. A block that was not scanned ahead is scanned here. While
/// another thread scans this file, the caller scans other files ahead, and sleeps when there is none.
Result<std::unique_ptr<Block>> OpenFiles::wait_for_block(ReaderState& file) {
  std::unique_ptr<Block> block;
  while (!block) {
    std::shared_ptr<ReaderState> other;
    {
      const Lock lock{mutex_};
      if (stopped_) return was_closed;
      const bool checking = !file.ready.empty();
      if (checking && file.ready.front()) return take_ready(file);
      if (!checking && file.broken) return *file.broken;
      if (!checking && file.state == Scan::over) return block;
      if (!checking && file.state == Scan::idle) {
        if (deadline_ && file.scanner->next_is_large()) {
          interrupted_ = true;
          return Error{Code::cancelled, "interrupted"};
        }
        block = empty_block();
        file.state = Scan::running;
        ++scanning_;
      } else if (other = claim_locked(deadline_.has_value()); !other) {
        block_ready_.wait(mutex_);
      }
    }
    if (other) scan(other);
  }
  if (deadline_ && !file.begun && file.scanner->must_settle()) {
    put_back(file, std::move(block));
    interrupted_ = true;
    return Error{Code::cancelled, "interrupted"};
  }
  file.scanner->need();
  file.scanner->find(*block);
  const Found number = found(file, block, std::nullopt);
  if (number.nothing) return nothing_yet("no bytes yet");
  if (block) check(file, std::move(block), number);
  const Lock lock{mutex_};
  if (file.broken) return *file.broken;
  return take_ready(file);
}

std::unique_ptr<Block> OpenFiles::take_ready(ReaderState& file) {
  file.read = true;
  std::unique_ptr<Block> block = std::move(file.ready.front());
  extra_ahead_ -= extra_of(file);
  file.ready.pop_front();
  extra_ahead_ += extra_of(file);
  ++file.taken;
  ahead_bytes_ -= static_cast<std::int64_t>(block->buffer_bytes);
  return block;
}

Result<std::shared_ptr<void>> OpenFiles::charge(std::int64_t bytes) {
  if (bytes <= std::max(pool_->limit() / 2, always_granted)) return pool_->charge(bytes, MemoryUse::order);
  return Error{Code::data, Detail::resource_exhausted,
               fmt::format("{} bytes are more than half of the memory budget of {} bytes; raise `memory`, or lower the "
                           "size that is asked for",
                           bytes, pool_->limit())};
}

bool OpenFiles::ready(Stream stream) {
  if (program_.source.rows) return rows_ || row_streams_->ready(stream, batch_);
  const ReaderState& file = *open_[stream];
  if (file.named) return true;
  if (file.block) {
    const Block& block = table_[*file.block];
    if (file.next_record < block.records.size() || block.last || block.error) return true;
  }
  const Lock lock{mutex_};
  return file.ready.empty() ? file.state == Scan::over : file.ready.front() != nullptr;
}

std::int64_t OpenFiles::skips_of(Stream stream) const { return program_.source.rows ? 0 : open_[stream]->skips; }

void OpenFiles::close(Stream stream) {
  if (program_.source.rows) return close_rows(stream);
  const std::shared_ptr<ReaderState> file = open_.take(stream);
  files_done_ += 1 - file->fraction;
  leave(*file);
}

std::uint32_t OpenFiles::number_of(const ReaderState& file) const { return file.first_file; }

void OpenFiles::collect(std::int64_t finished) {
  finished_ = finished;
  table_.collect(finished_, free_blocks_);
}

void OpenFiles::limit_mapped() {
  if (rows_) return rows_->limit_mapped(pool_->limit() / 2);
  table_.limit_mapped(pool_->limit() / 2 - pass_cache_.bytes(), finished_);
}

void OpenFiles::limit_memory() {
  limit_mapped();
  table_.limit_decoded(pool_->over(pool_->limit() / 8) ? 0 : pool_->limit() / 4, batch_);
  if (pool_->over(pool_->limit() / 8)) pass_cache_.drop_contents();
  if (table_.pinned_bytes() < compact_from_) return;
  table_.compact(batch_);
  const std::int64_t pinned = table_.pinned_bytes();
  compact_from_ = std::max(min_compacted, std::min(2 * pinned, pinned + pool_->limit() / 8));
}

void OpenFiles::stop() {
  {
    const Lock lock{mutex_};
    stopped_ = true;
    block_ready_.notify_all();
  }
  requests_->stop();
}

std::int64_t OpenFiles::records() const {
  const Lock lock{mutex_};
  return records_;
}

SkipTally::Counts OpenFiles::skipped() const {
  if (program_.made) return row_streams_->share().counts().skipped;
  const Lock lock{mutex_};
  return skipped_;
}

ShardReading OpenFiles::reading() const {
  const Lock lock{mutex_};
  return reading_;
}

std::int64_t OpenFiles::row_bytes() const {
  const Lock lock{mutex_};
  return row_bytes_;
}

std::int64_t OpenFiles::bytes_read() const {
  if (program_.made) return row_streams_->share().counts().bytes_read;
  const Lock lock{mutex_};
  return bytes_read_;
}

}  // namespace forebay::engine
