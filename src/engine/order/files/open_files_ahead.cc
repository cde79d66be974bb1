// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles that scan blocks before an order asks for their records, on any thread.
#include <algorithm>

#include <fmt/core.h>

#include "engine/memory/catch_all.h"
#include "engine/order/files/reader_state.h"

namespace forebay::engine {

namespace {

// Per file: scanning them is cheap, and their pages should still be cached by the processor when they are used.
constexpr std::size_t mapped_blocks_ahead = 2;
// More for each further thread, all files together, when blocks are checked: a thread that finds work goes on for as
// many blocks before it sleeps. Waking it takes about as long as checking a block.
constexpr std::size_t checked_blocks_ahead = 4;

}  // namespace

bool OpenFiles::wants_more(const ReaderState& file) const {
  if (file.state != Scan::idle || file.closed || file.faulty || !file.scanner->ready()) return false;
  const std::size_t more = looks_ ? checked_blocks_ahead * static_cast<std::size_t>(means_.threads - 1) : 0;
  if (!file.memory.own) return file.ready.size() < mapped_blocks_ahead || extra_ahead_ < more;
  return ahead_bytes_ < ahead_limit_ && !pool_->over(0);
}

/// Blocks of a mapped file that are ahead only because further threads check them.
std::size_t OpenFiles::extra_of(const ReaderState& file) {
  return file.memory.own ? 0 : file.ready.size() - std::min(file.ready.size(), mapped_blocks_ahead);
}

/// Whether an earlier pass is still scanning the same file for the pass cache. The scan of `file` waits for its result.
bool OpenFiles::will_be_kept(const ReaderState& file) const {
  if (file.begun) return false;
  for (const auto& earlier : waiting_) {
    if (earlier.get() == &file) return false;
    if (earlier->number == file.number && earlier->memory.kept && earlier->state != Scan::over) return true;
  }
  return false;
}

std::shared_ptr<OpenFiles::ReaderState> OpenFiles::claim(bool soon) {
  const Lock lock{mutex_};
  return claim_locked(soon);
}

std::shared_ptr<OpenFiles::ReaderState> OpenFiles::claim_locked(bool soon) {
  // The consumer scans too. More scans at once than threads would delay the scan whose block is needed first.
  if (scanning_ >= means_.threads) return nullptr;
  for (const auto& file : waiting_) {
    if (!wants_more(*file) || will_be_kept(*file)) continue;
    if (soon && (file->settling || file->scanner->next_is_large())) continue;
    file->state = Scan::running;
    file->soon = soon;
    file->need = file->read;
    ++scanning_;
    return file;
  }
  return nullptr;
}

/// Cancels a scan: the file was just written, and the calling thread must not wait (BlockReader::must_settle).
void OpenFiles::put_back(ReaderState& file, std::unique_ptr<Block> block) {
  const Lock lock{mutex_};
  --scanning_;
  file.state = Scan::idle;
  file.settling = true;
  if (block) free_blocks_.give(std::move(block));
  block_ready_.notify_all();
}

void OpenFiles::scan(const std::shared_ptr<ReaderState>& file) {
  if (file->soon && !file->begun && file->scanner->must_settle()) return put_back(*file, nullptr);
  std::unique_ptr<Block> block;
  auto thrown = catch_all(
      [&] {
        block = empty_block();
        if (file->need) file->scanner->need();
        file->scanner->find(*block);
      },
      no_memory_for_scan);
  const Found number = found(*file, block, std::move(thrown));
  if (block) check(*file, std::move(block), number);
}

/// Gives a block its place among those of the file. Takes it, unless it must be checked: then the place stays empty
/// until `check`.
OpenFiles::Found OpenFiles::found(ReaderState& file, std::unique_ptr<Block>& block, std::optional<Error> thrown) {
  const Lock lock{mutex_};
  if (block) scanned(file, *block);
  Found out{.nothing = !thrown && nothing_came(file, *block)};
  if (out.nothing) {
    free_blocks_.give(std::move(block));
  } else if (!thrown && !file.closed) {
    const auto bytes = static_cast<std::int64_t>(block->buffer_bytes);
    const std::size_t extra = extra_of(file);
    thrown = catch_all([&] { file.ready.emplace_back(); }, no_memory_for_scan);
    if (!thrown) ahead_bytes_ += bytes;
    extra_ahead_ += extra_of(file) - extra;
    if (!thrown && !looks_) file.ready.back() = std::move(block);
    out.number = file.taken + file.ready.size() - 1;
    out.help = looks_ && means_.threads > 1 && wants_more(file);
  }
  if (thrown) {  // `read` may be waiting for this block
    file.state = Scan::over;
    file.broken = in_file(*thrown, program_.source.files[file.first_file]);
  }
  if (thrown || file.closed) block.reset();
  if (!block) --scanning_;  // else it is still being checked
  block_ready_.notify_all();
  return out;
}

/// Checks a block and puts it in its place. Blocks of one file are checked by several threads at once.
void OpenFiles::check(ReaderState& file, std::unique_ptr<Block> block, const Found& found) {
  if (found.help && wake_) wake_();
  const auto before = std::ssize(block->records);
  look_into(file, *block);
  const Lock lock{mutex_};
  records_ -= before - std::ssize(block->records);
  --scanning_;
  block_ready_.notify_all();
  if (file.closed) {
    ahead_bytes_ -= static_cast<std::int64_t>(block->buffer_bytes);
    return;
  }
  file.faulty = file.faulty || block->error;
  file.ready[found.number - file.taken] = std::move(block);
}

/// Verifies the records if `find` has not, computes their attributes, and finds malformed ones.
void OpenFiles::look_into(const ReaderState& file, Block& block) {
  const auto thrown = catch_all(
      [&] {
        std::unique_ptr<RecordCheck> check = free_checks_.take();
        if (!check) check = std::make_unique<RecordCheck>(check_of(program_, pool_, EarlyCheck::Keep::records));
        file.scanner->check(block, *check);
        free_checks_.give(std::move(check));
      },
      no_memory_for_scan);
  block.drop_copy();
  if (!thrown) return;
  block.forget_records();
  block.error = in_file(*thrown, program_.source.files[file.first_file]);
}

/// Fails when the streamed blocks that handles name take more than the budget, even after compaction. They stay in
/// memory until their batches are made, so no wait would free them.
Result<void> OpenFiles::check_pinned(const ReaderState& file) {
  if (table_.pinned_bytes() <= pool_->limit()) return {};
  table_.compact(batch_);
  if (table_.pinned_bytes() <= pool_->limit()) return {};
  std::string each;
  if (file.block) {
    const Block& block = table_[*file.block];
    const std::int64_t records = std::max<std::int64_t>(1, std::ssize(block.records));
    each = fmt::format(" (about {} a record)", (block.file_end - block.file_offset) / records);
  }
  return Error{
      Code::data, Detail::resource_exhausted,
      fmt::format("the records of compressed files that wait for their turn hold {} bytes{} and more are wanted, "
                  "but the memory budget is {} bytes: they stay in memory from when they are decompressed until "
                  "their batch is made; raise `memory`, or lower the buffers of shuffles or the batch size",
                  table_.pinned_bytes(), each, pool_->limit())};
}

std::unique_ptr<Block> OpenFiles::empty_block() {
  auto block = free_blocks_.take();
  return block ? std::move(block) : std::make_unique<Block>();
}

void OpenFiles::scanned(ReaderState& file, const Block& block) {
  file.state = block.last || block.error ? Scan::over : Scan::idle;
  file.memory = file.scanner->memory();
  file.begun = true;
  file.settling = false;
  if (!file.brings) records_ += static_cast<std::int64_t>(block.records.size());  // those were counted with their names
  bytes_read_ += block.bytes_read;
}

}  // namespace forebay::engine
