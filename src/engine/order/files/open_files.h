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

#include "engine/blocks/block_table.h"
#include "engine/blocks/numbered_table.h"
#include "engine/blocks/resident_rows.h"
#include "engine/blocks/row_attributes.h"
#include "engine/blocks/row_streams.h"
#include "engine/blocks/selected_rows.h"
#include "engine/blocks/whole_file_access.h"
#include "engine/memory/sync.h"
#include "engine/order/file_places.h"
#include "engine/order/files/indexed_reader.h"
#include "engine/order/files/own_rows.h"
#include "engine/order/files/skip_tally.h"
#include "engine/order/function_calls.h"
#include "engine/order/open_parts.h"
#include "engine/program/program.h"
#include "engine/read/file_reader.h"

namespace forebay::engine {

/// The open parts of a run's source, and the Reader that the orders of the plan call. Owned by the Scheduler.
///
///     announce ──► waiting_: idle ── claim, or `read` needs a block ──► running ── scan ──► a block joins `ready`
///     open ─────►              ▲                                                             │             │
///                              ├─────────── the file goes on ◄───────────────────────────────┤             ▼
///                              │                             over ◄── end, or an error ──────┘  read: table entry,
///                              └── put_back: just written, and the thread must not wait         handles of its records
///
/// A plan that looks into records has two phases: one thread finds the records of a block, and the file goes on at
/// once; then the same thread checks the block while others find and check the next ones (docs/adr/0027). The block's
/// place in `ready` is null meanwhile, so `read` takes the blocks in the order of the file.
///
///     found ──► ready: null, state idle ──► check, any number of blocks at a time ──► the block fills its place
///
///     close, or the rest of the file is skipped ──► removed from waiting_, ready blocks are dropped
///
/// The order plane (one thread at a time) announces, opens, reads and closes files. Workers and the consumer scan
/// blocks ahead: `claim`, then `scan`. `read` scans the block itself when the file is idle, so the order plane never
/// waits for a scan that has not begun. While a restart catches up, files with a stored index are not scanned at all,
/// unless the order needs attributes. Where the process takes only some of the rows, large records of such files are
/// never scanned: they are named, and `hand_over` brings those that are its own (OwnRows).
///
/// A part is a file, or a run of whole files that are records. Rows that come ready have no files: the order plane
/// alone reads them, with ResidentRows or RowStreams, and none of the picture applies.
///
/// `mutex_` guards the state that both sides use. A failed scan is reported by the `read` that reaches its place.
class OpenFiles final : public OpenParts {
 public:
  using ReaderState = engine::ReaderState;
  /// `program` must outlive this object. `means.threads`: the most blocks that are scanned at once. `means.processes`:
  /// of OwnRows. `wake` is called from any thread when a source of rows that had none has some, and when bytes that
  /// were asked for have come.
  OpenFiles(const Program& program, std::shared_ptr<BufferPool> pool, RunMeans means = {},
            std::function<void()> wake = {});
  ~OpenFiles() { requests_->stop(); }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  // For the order plane: one thread at a time.
  /// Hints that this file is opened next. Files are scanned ahead in the order of the hints; `open` of another file
  /// cancels all hints. Ignored while a restart catches up and before the first `open`.
  void announce(Handle file) EXCLUDES(mutex_);
  // The functions of Reader (forebay/order.h). They fail with Code::cancelled when interrupted, and may be repeated.
  Stream open(Handle file) override EXCLUDES(mutex_);
  Result<std::size_t> read(Stream stream, std::span<Handle> out) override EXCLUDES(mutex_);
  Result<std::int64_t> skip(Stream stream, std::int64_t n) override EXCLUDES(mutex_);
  bool ready(Stream stream) override EXCLUDES(mutex_);
  void close(Stream stream) override EXCLUDES(mutex_);
  void drop(std::span<const Handle> records) override {
    if (program_.source.files_a_part > 0) whole_files_.forget(records);
    table_.release(records, batch_);
  }
  void hold(std::span<const Handle> records) override { table_.hold(records); }
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override;
  std::int64_t files_ahead() const override;
  Result<std::vector<std::int64_t>> index(std::span<const Handle> files) override EXCLUDES(mutex_);
  Result<std::vector<std::int64_t>> count(std::span<const Handle> files) override EXCLUDES(mutex_);
  void expect_places(std::int64_t places) override { indexed_ = places; }
  Result<void> locate(std::span<const RecordName> names, std::span<Handle> out) override;
  /// Whole files are not read here: records that lie together in an order do not lie together on the disk, and a shard
  /// reads only the files of its own rows, in `fetch_batch`.
  Result<bool> fetch(std::span<Handle> handles) override;
  Result<bool> expect(std::span<const Handle> handles) override;
  std::int64_t window() const override { return access_.window(); }
  std::int64_t windows_ahead() const override { return access_.windows_ahead(); }
  /// As `fetch`, for the rows of a batch that this process makes. Afterwards all of them are in memory.
  Result<bool> fetch_batch(std::span<Handle> handles);
  Expected expect_batch(std::span<const Handle> rows) override;
  Result<void> prepare() override EXCLUDES(mutex_);
  /// Asks the system for the records that the tickets of a batch will read out of files, where this process takes only
  /// some of the rows, so that they come while batches before this one are made.
  void expect_reads(const BatchLayout& layout) const;
  Result<void> attributes(std::size_t attribute, std::span<const Handle> records, std::span<std::int64_t> out) override;
  /// An integer of frame `frames[i]` of each record; `attribute` counts in EarlyWork::frame_attributes.
  Result<void> frame_attributes(std::size_t attribute, std::span<const Handle> records,
                                std::span<const std::int64_t> frames, std::span<std::int64_t> out);
  Result<void> attributes_of(std::size_t attribute, std::span<const RecordName> names,
                             std::span<std::int64_t> out) override;
  // The functions of OpenParts.
  OpenFiles& branch(std::size_t) override { return *this; }
  void catch_up(bool catching_up) override { catching_up_ = catching_up; }
  [[nodiscard]] bool catching_up() const { return catching_up_; }
  Result<void> hand_over(BatchLayout& layout, std::int64_t batch) override;
  [[nodiscard]] BlockTable& table() { return table_; }
  [[nodiscard]] const std::shared_ptr<BufferPool>& pool() const { return pool_; }
  /// Ordinal of a record in its part, from 0.
  [[nodiscard]] std::int64_t record_of(const Handle& record) const {
    return table_[record.block].first_record + record.ordinal;
  }
  /// Whether an element that was just read is the last row of its block (Program::marks_batches).
  [[nodiscard]] bool ends_block(const Handle& row) const {
    const RowBlock* const rows = table_[row.block].rows.get();
    return rows == nullptr || std::int64_t{row.ordinal} + 1 == rows->rows;
  }
  /// The part and the record of a record that is in the table.
  [[nodiscard]] RowIdentity identity(const Handle& record) const {
    const auto at = program_.source.locate(table_[record.block].file, record_of(record), 0);
    return {.part = static_cast<std::int64_t>(at.file), .record = at.record};
  }
  /// Skips that `read` has passed in this stream. A call of `read` never returns records from both sides of a skip.
  [[nodiscard]] std::int64_t skips_of(Stream stream) const;
  /// Counts records as those that attributes() was asked for.
  void judge(std::int64_t records) { judged_ += records; }
  void begin_batch(std::int64_t number) override { batch_ = number; }
  double files_done() const override { return files_done_; }
  std::optional<std::int64_t> indexed() const override { return indexed_; }
  std::int64_t judged() const override { return judged_; }
  void begin_pass(std::int64_t epoch) override {
    if (requests_->cache() != nullptr)
      requests_->cache()->begin_pass(pass_times(program_, epoch, means_.processes > 1));
    if (row_streams_) row_streams_->begin_pass(epoch, batch_);
    files_done_ = 0;
    judged_ = 0;
    indexed_.reset();
    skips_.begin_pass();
  }
  /// Of rows that are made of a combination (RowStreams::mixed).
  [[nodiscard]] MixedPlace mixed() const { return row_streams_ ? row_streams_->mixed() : MixedPlace{}; }
  Result<void> end_pass() const override;
  Result<bool> end_run(Deadline deadline) override {
    if (rows_) FOREBAY_DO(rows_->unchanged());
    return versions_.look_again(deadline);
  }
  void set_deadline(Deadline deadline) override {
    deadline_ = deadline;
    interrupted_ = starved_ = false;
  }
  Result<Function::Integers> call(const AskedFunction& asked, std::span<const std::int64_t> question) override;
  /// Cancellation hook: polled before each block is read. When it returns true, the call fails as after a deadline.
  void ask(std::function<bool()> stop) { stop_ = std::move(stop); }
  bool starved() const override { return starved_; }
  bool interrupted(const Error& error) const override { return interrupted_ && error.code() == Code::cancelled; }
  void close_readers() override {
    if (row_streams_) row_streams_->close_all();
    calls_.close();
  }
  void collect(std::int64_t finished) override;
  void collect() override { collect(finished_); }
  void limit_memory() override;

  // For any thread.
  std::uint32_t number_of(const ReaderState& file) const override;
  std::shared_ptr<ReaderState> claim(bool soon = false) override EXCLUDES(mutex_);
  void scan(const std::shared_ptr<ReaderState>& file) override EXCLUDES(mutex_);
  bool keeps_content() const override { return pass_cache_.keeps_content(); }
  void drop_kept_content() override { pass_cache_.drop_contents(); }
  std::string take_notice() override {
    std::string line = requests_->cache() != nullptr ? requests_->cache()->take_notice() : std::string{};
    return line.empty() ? access_.take_notice() : line;
  }
  void note(std::string line) override { access_.note(std::move(line)); }
  void stop() override EXCLUDES(mutex_);
  std::vector<std::int64_t> sizes() const override { return versions_.sizes(); }
  std::int64_t records() const override EXCLUDES(mutex_);
  std::int64_t bytes_read() const override EXCLUDES(mutex_);
  SkipTally::Counts skipped() const override EXCLUDES(mutex_);
  RequestStats requests() const override { return requests_->counts(); }
  std::string oldest_request() const override { return requests_->oldest(); }
  ShardReading reading() const override EXCLUDES(mutex_);
  std::int64_t row_bytes() const override EXCLUDES(mutex_);

 private:
  [[nodiscard]] Result<bool> next_block(ReaderState& file) EXCLUDES(mutex_);  // false: end of the file
  [[nodiscard]] bool leave_block(ReaderState& file);                          // false: it was the last block
  [[nodiscard]] Result<std::unique_ptr<Block>> wait_for_block(ReaderState& file) EXCLUDES(mutex_);
  [[nodiscard]] std::unique_ptr<Block> take_ready(ReaderState& file) REQUIRES(mutex_);
  void begin_rows(const RowSource& source, std::function<void()> wake);
  [[nodiscard]] Result<std::size_t> read_rows(Stream stream, std::span<Handle> out) EXCLUDES(mutex_);
  [[nodiscard]] Result<std::size_t> read_resident(Stream stream, std::span<Handle> out);
  [[nodiscard]] Result<std::int64_t> skip_resident(Stream stream, std::int64_t n) EXCLUDES(mutex_);
  [[nodiscard]] Result<std::int64_t> skip_streamed(Stream stream, std::int64_t n) EXCLUDES(mutex_);
  [[nodiscard]] Result<std::int64_t> pass_named(ReaderState& file) EXCLUDES(mutex_);
  void went_on(ReaderState& file, std::int64_t count);
  [[nodiscard]] Result<std::size_t> read_row_blocks(Stream stream, std::span<Handle> out);
  void close_rows(Stream stream);
  [[nodiscard]] Result<std::vector<std::int64_t>> count_rows(std::span<const std::uint32_t> parts);
  [[nodiscard]] Result<std::vector<std::int64_t>> count_streamed(std::span<const std::uint32_t> parts) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> collect_rows(std::span<const std::uint32_t> parts) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> make_room_for_rows();
  [[nodiscard]] Result<void> name_rows(std::span<const RecordName> names, std::span<Handle> out, bool counted);
  [[nodiscard]] std::shared_ptr<ReaderState> begin_part(std::uint32_t part) EXCLUDES(mutex_);
  void name_records(ReaderState& file);
  [[nodiscard]] Result<void> bring_files(std::span<Handle> handles) EXCLUDES(mutex_);
  void begin_bringing(std::span<const std::uint32_t> files) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> bring_rest(std::span<Handle* const> absent) EXCLUDES(mutex_);
  void stop_bringing() EXCLUDES(mutex_);
  [[nodiscard]] Result<bool> fetch_absent(std::span<Handle> handles, IndexedReader::Of what) EXCLUDES(mutex_);
  void count_bytes(std::span<const Handle> handles) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> locate_names(std::span<const RecordName> names, std::span<Handle> out);
  [[nodiscard]] Result<std::size_t> read_indexed(ReaderState& file, std::span<Handle> out) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> scan_from_here(const std::shared_ptr<ReaderState>& file) EXCLUDES(mutex_);
  [[nodiscard]] bool interrupt() EXCLUDES(mutex_);  // true: return before more is read
  [[nodiscard]] Error leave_to_workers();
  [[nodiscard]] Error nothing_yet(const char* what);  // the order goes on after `wake`
  [[nodiscard]] Result<void> pass_over(ReaderState& file, const Skip& skip) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> fail(ReaderState& file, const Error& error) EXCLUDES(mutex_);
  [[nodiscard]] Result<void> check_pinned(const ReaderState& file);
  void limit_mapped();
  void put_back(ReaderState& file, std::unique_ptr<Block> block) EXCLUDES(mutex_);
  void leave(ReaderState& file) EXCLUDES(mutex_);  // drops the rest of the file
  [[nodiscard]] bool wants_more(const ReaderState& file) const REQUIRES(mutex_);
  [[nodiscard]] static std::size_t extra_of(const ReaderState& file);
  [[nodiscard]] bool will_be_kept(const ReaderState& file) const REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<ReaderState> claim_locked(bool soon) REQUIRES(mutex_);
  [[nodiscard]] std::unique_ptr<Block> empty_block();
  [[nodiscard]] std::unique_ptr<BlockReader> reader_of(std::uint32_t part);
  [[nodiscard]] static bool nothing_came(const ReaderState& file, const Block& block);
  void scanned(ReaderState& file, const Block& block) REQUIRES(mutex_);  // updates the file's state and the counts
  struct Found {               // what becomes of a block whose records were found
    bool nothing = false;      // no bytes have come; the block was given back
    std::uint64_t number = 0;  // of the block, among those of the file
    bool help = false;         // another thread may go on with the file
  };
  [[nodiscard]] Found found(ReaderState& file, std::unique_ptr<Block>& block, std::optional<Error> thrown)
      EXCLUDES(mutex_);
  void check(ReaderState& file, std::unique_ptr<Block> block, const Found& found) EXCLUDES(mutex_);
  void look_into(const ReaderState& file, Block& block);

  const Program& program_;
  std::shared_ptr<BufferPool> pool_;
  const RunMeans means_;
  const bool collects_;  // rows that come one after the other are held in memory, for orders that reach them by number
  const std::shared_ptr<Requests> requests_;  // to file systems, of all files
  const std::int64_t ahead_limit_;            // max bytes of streamed blocks scanned ahead, all files together
  PassCache pass_cache_;
  FileVersions versions_;
  // Used by the order plane only.
  BlockTable table_;
  IndexedReader access_;
  // At most one is set: the source is rows that come ready, and no file is ever opened.
  std::optional<ResidentRows> rows_;
  std::optional<RowStreams> row_streams_;
  std::optional<RowAttributes> row_attributes_;
  std::optional<SelectedRows> selected_rows_;          // set when filters stand before an order that reads by index
  WholeFileAccess whole_files_;                        // used instead of access_ when records are whole files
  std::deque<std::shared_ptr<ReaderState>> bringing_;  // of a batch of whole files: each reads some of them
  std::size_t bringing_count_ = 0;                     // and how many there are
  std::int64_t brought_ = 0;                           // bytes of them so far
  OwnRows own_rows_;
  bool prepared_ = false;          // `prepare` has nothing more to do
  const bool catches_up_by_name_;  // records are named instead of scanned while a restart catches up
  bool catching_up_ = false;
  std::vector<RecordName> names_;  // scratch
  FunctionCalls calls_;
  NumberedTable<std::shared_ptr<ReaderState>, Reader::Stream> open_;
  std::deque<std::shared_ptr<ReaderState>> announced_;  // and not yet opened
  std::int64_t batch_ = 0;                              // the batch that is being decided
  std::int64_t finished_ = 0;                           // all batches before this one are finished
  std::int64_t compact_from_;                           // pinned bytes from which `limit_memory` compacts
  double files_done_ = 0;
  std::int64_t judged_ = 0;
  std::optional<std::int64_t> indexed_;
  SkipTally skips_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::function<bool()> stop_;
  bool interrupted_ = false;  // since set_deadline
  bool starved_ = false;      // since set_deadline
  const bool looks_;          // into records when their block is read
  const std::function<void()> wake_;
  Recycler<Block> free_blocks_;        // used by all threads
  Recycler<RecordCheck> free_checks_;  // used by all threads; at most as many as blocks are checked at once

  mutable Mutex mutex_;
  Condition block_ready_;                                                // the order plane waits for a worker's scan
  std::deque<std::shared_ptr<ReaderState>> waiting_ GUARDED_BY(mutex_);  // open and announced, in the order of reading
  std::int64_t ahead_bytes_ GUARDED_BY(mutex_) = 0;                      // bytes of the blocks in all `ready` queues
  std::size_t extra_ahead_ GUARDED_BY(mutex_) = 0;                       // the sum of extra_of all files
  std::int64_t scanning_ GUARDED_BY(mutex_) = 0;                         // blocks being found or checked
  std::int64_t records_ GUARDED_BY(mutex_) = 0;
  std::int64_t bytes_read_ GUARDED_BY(mutex_) = 0;
  std::int64_t row_bytes_ GUARDED_BY(mutex_) = 0;  // of the records of own rows, where `some_rows`
  ShardReading reading_ GUARDED_BY(mutex_);        // a copy of that of own_rows_, for other threads
  SkipTally::Counts skipped_ GUARDED_BY(mutex_);   // a copy of skips_.counts(), for other threads
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::engine
