// SPDX-License-Identifier: Apache-2.0
// The functions of OpenFiles that scan blocks before an order asks for their records, on any thread.
#include <algorithm>

#include "engine/memory/catch_all.h"
#include "engine/order/files/reader_state.h"

namespace forebay::engine {

namespace {

constexpr std::size_t mapped_blocks_ahead =
    2;  // per file: scanning them is cheap, and their pages should still be cached by the processor when they are used

}  // namespace

bool OpenFiles::wants_more(const ReaderState& file) const {
  if (file.state != Scan::idle || file.closed) return false;
  if (!file.streamed) return file.ready.size() < mapped_blocks_ahead;
  return ahead_bytes_ < ahead_limit_ && !pool_->over(0) && file.scanner->ready();
}

/// Whether an earlier pass is still scanning the same file for the pass cache. The scan of `file` waits for its result.
bool OpenFiles::will_be_kept(const ReaderState& file) const {
  if (file.begun) return false;
  for (const auto& earlier : waiting_) {
    if (earlier.get() == &file) return false;
    if (earlier->number == file.number && earlier->keeping && earlier->state != Scan::over) return true;
  }
  return false;
}

std::shared_ptr<OpenFiles::ReaderState> OpenFiles::claim(bool soon) {
  const Lock lock{mutex_};
  return claim_locked(soon);
}

std::shared_ptr<OpenFiles::ReaderState> OpenFiles::claim_locked(bool soon) {
  // The consumer scans too. More scans at once than threads would delay the scan whose block is needed first.
  if (scanning_ >= threads_) return nullptr;
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
        file->scanner->scan(*block);
      },
      no_memory_for_scan);
  const Lock lock{mutex_};
  const std::int64_t bytes = block ? static_cast<std::int64_t>(block->buffer_bytes) : 0;
  --scanning_;
  if (block) scanned(*file, *block);
  if (!thrown && nothing_came(*file, *block)) {
    free_blocks_.give(std::move(block));
  } else if (!thrown && !file->closed) {
    thrown = catch_all([&] { file->ready.push_back(std::move(block)); }, no_memory_for_scan);
    if (!thrown) ahead_bytes_ += bytes;
  }
  if (thrown) {  // `read` may be waiting for this block
    file->state = Scan::over;
    file->broken = in_file(*thrown, program_.source.files[file->first_file]);
  }
  block_ready_.notify_all();
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
  file.streamed = file.scanner->streamed();
  file.begun = true;
  file.settling = false;
  file.keeping = file.scanner->keeping();
  records_ += static_cast<std::int64_t>(block.records.size());
  bytes_read_ += block.bytes_read;
}

}  // namespace forebay::engine
