// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/blocks/batch_layout.h"
#include "engine/order/batch_blocks.h"
#include "engine/order/batches_ahead.h"
#include "engine/order/files/open_files.h"
#include "engine/order/occurrences.h"
#include "engine/order/passes.h"
#include "engine/program/position.h"
#include "engine/program/program.h"

namespace forebay::engine {

/// Decides the content of each batch.
///
///     Files ─► orders of files ─► interleave ─► orders of records ─► Batcher ─► BatchBlocks ─► rows of this shard
///     └─────────────── Passes: one pass after the other ────────────┘                          ─► BatchLayout
///
/// Owned by the Scheduler. The holder of the baton calls it, so one thread at a time. A restart begins with the pass of
/// `start`, repeats its order without delivering, and delivers from batch `start.next` on.
///
/// With hard epochs a batch is handed over when the next one has been cut (`ahead_`): only then it is known whether the
/// batch is the last one of its epoch.
///
///     cut ─► [hard: cut the next one] ─► its epoch is before `from_`, or the batch is another shard's: left out,
///                                    │   nothing is decoded ─► cut …
///                                    └─► wanted: fetch ─► hand over
///
/// A process that takes only some of the rows decides several batches before it hands over the first (BatchesAhead).
class OrderPlane {
 public:
  /// `program` and `streams` must outlive this object. Nothing is read before the first `next`.
  OrderPlane(const Program& program, OpenParts& streams, Position start = {}, Shard shard = {});
  ~OrderPlane();

  /// Batches of epochs before this one are left out from now on. Never goes back to an earlier epoch.
  void skip_to(std::int64_t epoch);
  /// Batches with smaller numbers are left out. Called before the first `next`.
  void leave_out_before(std::int64_t number) { sought_ = number; }
  /// Charges the rows that were cut ahead to the memory budget.
  void account(BufferPool& pool) {
    if (program_.hard_epochs) ahead_.account(pool);
    for (BatchBlocks& blocks : blocks_) blocks.account(pool);
    if (batches_ahead_) batches_ahead_->account();
    if (program_.identity == Program::Identity::occurrences)
      occurrences_charge_.set(pool, occurrences_.bytes(), MemoryUse::order);
  }

  /// The number that the next batch of the stream has: of a run from its beginning, the batches that were cut.
  [[nodiscard]] std::int64_t batches_cut() const { return number_; }
  /// How many rows wait in the batcher; nameless where none ever does.
  [[nodiscard]] const Gauge& batcher_gauge() const { return batcher_gauge_; }

  /// Decides the next batch and fills `layout`. Returns false at the end of the run.
  ///
  /// The first call takes an empty layout. After an error, also Code::cancelled after the deadline of OpenFiles, the
  /// call may be repeated with the same layout and continues. Fails with Code::data when a file cannot be read or no
  /// batch can ever be full, and with Code::state when the files have fewer records than `start` says.
  [[nodiscard]] Result<bool> next(BatchLayout& layout);
  /// After `next` failed for good: makes a batch of the records that were placed before the fault, so that theirs are
  /// found first. False: there are none, or they stand in no order in which a fault comes earlier.
  [[nodiscard]] bool take_before_fault(BatchLayout& layout);

 private:
  enum class Stage : std::uint8_t { cut, look_ahead };  // where an interrupted `decide` goes on
  Result<void> begin();
  Result<bool> cut(BatchLayout& layout);      // the next batch of the stream
  Result<bool> ordered(BatchLayout& layout);  // the next batch after the orders on batches
  void begin_blocks();
  [[nodiscard]] Position epoch_start(std::int64_t epoch) const;
  /// Whether the number of a batch does not tell where the next epoch begins.
  [[nodiscard]] bool keeps_starts() const { return !blocks_.empty() || !program_.branches.empty(); }
  Result<bool> cut_rows(BatchLayout& layout);   // its handles, rows and epoch
  Result<Cut> cut_batch(BatchLayout& layout);   // the batcher's next batch, which may be interrupted
  Result<void> take_rows(BatchLayout& layout);  // from `rows_`
  bool end_of_pass(BatchLayout& layout);        // true: `layout` is a batch without rows, of an epoch without a batch
  void add_epoch_end(BatchLayout& layout);      // the row of Batching::epoch_end
  [[nodiscard]] Fraction done_of_epoch(const BatchLayout& layout);
  Result<bool> cut_or_take(BatchLayout& layout);  // the batch that was cut ahead, else the next one
  Result<void> look_ahead(BatchLayout& layout);   // cuts one more, and says whether `layout` ends its epoch
  Result<bool> decide(BatchLayout& layout);       // the next batch that is wanted
  Result<bool> decide_own(BatchLayout& layout);   // with the rows of this shard
  Result<bool> take(BatchLayout& layout);         // the batch that is handed over next
  [[nodiscard]] bool wanted(const BatchLayout& layout) const;
  Result<void> catch_up(BatchLayout& layout);  // cuts and drops the batches before start_.next
  Result<void> pass_over();                    // goes past most of them by their number of rows
  void leave_out(BatchLayout& layout);
  [[nodiscard]] Position after(const BatchLayout& layout);
  [[nodiscard]] std::int64_t cut_short(const BatchLayout& layout) const;
  [[nodiscard]] Position after_epoch(const BatchLayout& layout);
  void keep_shard(BatchLayout& layout);  // drops the rows of other shards
  [[nodiscard]] OpenParts::Expected expect(std::span<const Handle> rows);
  Result<void> hand_over(BatchLayout& layout);
  [[nodiscard]] Reader& reader();  // of the handles that the batcher gets
  [[nodiscard]] BatcherContext batcher_context();

  const Program& program_;
  OpenParts& open_files_;
  const Position start_;
  const Shard shard_;
  std::unique_ptr<WindowReader> windows_;  // null: the plan has no window stage
  Occurrences occurrences_;
  Charge occurrences_charge_;
  std::unique_ptr<Passes> passes_;
  Gauge batcher_gauge_;
  std::unique_ptr<Batcher> batcher_;
  std::int64_t number_;           // in the stream, of the batch that is cut next
  std::int64_t ordinal_;          // of the batch that is handed over next: counts those that are made, without gaps
  std::int64_t from_;             // batches of earlier epochs are left out
  std::int64_t sought_ = 0;       // batches with smaller numbers are left out
  std::int64_t pass_;             // the pass that `done_` belongs to
  std::int64_t done_;             // millionths of that pass: the largest so far
  std::int64_t passing_ = 0;      // rows of a restart that `pass_over` has to go past
  std::int64_t cut_in_pass_ = 0;  // batches, with Batching::epoch_end
  std::pair<std::int64_t, double> epoch_frac_{-1, 0};  // an epoch, and the largest fraction of it so far
  std::int64_t ended_pass_ = -1;                       // the last pass that is known to have no more batches
  std::map<std::int64_t, std::int64_t> sequences_;     // by epoch whose end was not handed over: its sequences
  int passes_without_batch_ = 0;                       // consecutive passes that had records but no batch
  Stage stage_ = Stage::cut;
  bool fetches_ = false;                           // an interrupted `next` goes on with `hand_over`
  BatchLayout ahead_;                              // with hard epochs: the batch after the one that is handed over next
  bool has_ahead_ = false;                         // and it is whole
  std::optional<BatchesAhead> batches_ahead_;      // set in a process that takes only some of the rows
  std::vector<BatchBlocks> blocks_;                // by order on batches
  std::int64_t delivered_;                         // batches that came out of them
  Position cut_after_;                             // where a run stands that continues with the next batch to cut
  std::map<std::int64_t, Position> epoch_starts_;  // with hard epochs and `keeps_starts`: where later epochs begin
  BatchRows rows_{ahead_.handles};                 // of the batch that is cut
  BatchLayout* open_ = nullptr;                    // the layout of that batch, from its beginning until it is whole
};

}  // namespace forebay::engine
