// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/plugin.h>

#include "engine/memory/sync.h"
#include "engine/order/block_table.h"
#include "engine/order/indexed_reader.h"
#include "engine/order/skip_tally.h"
#include "engine/program/program.h"
#include "engine/read/file_reader.h"

namespace forebay::engine {

/// The open files of a run. The order plane (one thread at a time) announces and reads them; any worker may scan ahead
/// in between. A block that the order plane needs and nobody scans is scanned by the order plane itself, so it never
/// waits for work that has not begun.
class OpenFiles final : public Reader {
 public:
  OpenFiles(const Program& program, std::shared_ptr<BufferPool> pool, std::int64_t threads);

  // For the order plane.
  /// Will be opened soon, behind those announced before, when the files that are open have been: scans it ahead.
  void announce(Handle file) EXCLUDES(mutex_);
  Stream open(Handle file) override EXCLUDES(mutex_);
  Result<std::size_t> read(Stream stream, std::span<Handle> out) override EXCLUDES(mutex_);
  bool ready(Stream stream) override EXCLUDES(mutex_);
  void close(Stream stream) override EXCLUDES(mutex_);
  void drop(std::span<const Handle> records) override { table_.release(records, batch_); }
  void hold(std::span<const Handle> records) override { table_.hold(records); }
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override;
  std::int64_t files_ahead() const override { return threads_ > 1 ? 2 * threads_ : 0; }
  Result<std::vector<std::int64_t>> index(std::span<const Handle> files) override EXCLUDES(mutex_);
  Result<std::vector<std::int64_t>> count(std::span<const Handle> files) override EXCLUDES(mutex_);
  Result<void> locate(std::span<const RecordName> names, std::span<Handle> out) override;
  Result<bool> fetch(std::span<Handle> handles) override;
  std::int64_t window() const override { return access_.window(); }
  /// While the order is only gone through again, records are named by stored indexes, where there are some.
  void catch_up(bool catching_up) { catching_up_ = catching_up; }
  [[nodiscard]] BlockTable& table() { return table_; }
  void begin_batch(std::int64_t number) { batch_ = number; }  ///< Handles released from now on belong to it.
  /// Files read in this pass, with fractions of the open ones.
  [[nodiscard]] double files_done() const { return files_done_; }
  /// The records of all files of this pass, once an order has asked for their indexes: then no file is read in order.
  [[nodiscard]] std::optional<std::int64_t> indexed() const { return indexed_; }
  void begin_pass() {
    files_done_ = 0;
    indexed_.reset();
    skips_.begin_pass();
  }
  /// Fails when too much was skipped in it, or when a file was written to that is reached by its index.
  [[nodiscard]] Result<void> end_pass() const;
  /// From then on `read` fails rather than scan one more block; nothing is lost, and `interrupted` tells.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline) {
    deadline_ = deadline;
    interrupted_ = false;
  }
  /// From now on it is asked, before more is read, whether the run is to be given up.
  void ask(std::function<bool()> stop) { stop_ = std::move(stop); }
  /// Whether that, or the deadline, is what this error, of an order over this, comes from.
  [[nodiscard]] bool interrupted(const Error& error) const { return interrupted_ && error.code() == Code::cancelled; }
  void collect(std::int64_t finished);  ///< Recycles what batches before `finished` used.
  void limit_memory();                  ///< Lets go of mapped pages over the budget, compacts streamed blocks near it.

  // For workers.
  struct ReaderState;
  [[nodiscard]] static std::uint32_t number_of(const ReaderState& file);  ///< Of the file.
  /// A file that is worth scanning ahead, or null; it is then reserved for the caller, who must call `scan`. For who
  /// must come back soon, none whose next record is large.
  [[nodiscard]] std::shared_ptr<ReaderState> claim(bool soon = false) EXCLUDES(mutex_);
  void scan(const std::shared_ptr<ReaderState>& file) EXCLUDES(mutex_);  ///< Without memory, `read` of the file fails.
  [[nodiscard]] bool keeps_content() const { return pass_cache_.keeps_content(); }  ///< For later passes.
  void drop_kept_content() { pass_cache_.drop_contents(); }                         ///< For good.
  void stop() EXCLUDES(mutex_);  ///< Wakes who waits in `read`, which then fails with Code::cancelled.
  [[nodiscard]] std::int64_t records() const EXCLUDES(mutex_);
  [[nodiscard]] std::int64_t bytes_read() const EXCLUDES(mutex_);
  [[nodiscard]] SkipTally::Counts skipped() const EXCLUDES(mutex_);

 private:
  enum class Scan : std::uint8_t { idle, running, over };
  [[nodiscard]] Result<bool> next_block(ReaderState& file) EXCLUDES(mutex_);  // false at the end of the file
  [[nodiscard]] bool leave_block(ReaderState& file);
  [[nodiscard]] Result<std::unique_ptr<Block>> wait_for_block(ReaderState& file) EXCLUDES(mutex_);
  [[nodiscard]] std::unique_ptr<Block> take_ready(ReaderState& file) REQUIRES(mutex_);
  [[nodiscard]] Result<std::size_t> read_indexed(ReaderState& file, std::span<Handle> out) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> scan_from_here(const std::shared_ptr<ReaderState>& file) EXCLUDES(mutex_);
  [[nodiscard]] bool interrupt() EXCLUDES(mutex_);  // whether to come back before more is read
  [[nodiscard]] Result<void> pass_over(ReaderState& file, const Skip& skip) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> fail(ReaderState& file, const Error& error) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> check_pinned(const ReaderState& file);
  void limit_mapped();
  void leave(ReaderState& file) EXCLUDES(mutex_);  // what is left of it is not wanted
  [[nodiscard]] bool wants_more(const ReaderState& file) const REQUIRES(mutex_);
  [[nodiscard]] bool will_be_kept(const ReaderState& file) const REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<ReaderState> claim_locked(bool soon) REQUIRES(mutex_);
  [[nodiscard]] std::unique_ptr<Block> empty_block();
  void scanned(ReaderState& file, const Block& block) REQUIRES(mutex_);  // accounts for it

  const Program& program_;
  std::shared_ptr<BufferPool> pool_;
  const std::int64_t threads_;
  const std::int64_t ahead_limit_;  // bytes of streamed blocks scanned ahead, all files together
  PassCache pass_cache_;
  // The order plane's own.
  BlockTable table_;
  IndexedReader access_;
  bool catching_up_ = false;
  std::vector<RecordName> names_;                   // scratch
  std::vector<std::shared_ptr<ReaderState>> open_;  // by stream number
  std::vector<Stream> free_numbers_;
  std::deque<std::shared_ptr<ReaderState>> announced_;
  std::int64_t batch_ = 0;
  std::int64_t finished_ = 0;  // batches before it are
  std::int64_t compact_from_;  // pinned bytes from which it is worth to look for half-empty blocks
  double files_done_ = 0;
  std::optional<std::int64_t> indexed_;
  SkipTally skips_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::function<bool()> stop_;
  bool interrupted_ = false;
  Recycler<Block> free_blocks_;

  mutable Mutex mutex_;
  Condition block_ready_;
  std::deque<std::shared_ptr<ReaderState>> waiting_ GUARDED_BY(mutex_);  // in the order in which they will be needed
  std::int64_t ahead_bytes_ GUARDED_BY(mutex_) = 0;
  std::int64_t scanning_ GUARDED_BY(mutex_) = 0;  // files being scanned
  std::int64_t records_ GUARDED_BY(mutex_) = 0;
  std::int64_t bytes_read_ GUARDED_BY(mutex_) = 0;
  SkipTally::Counts skipped_ GUARDED_BY(mutex_);  // a copy of skips_', for others
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::engine
