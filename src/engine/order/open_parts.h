// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/order.h>
#include <forebay/shard_reading.h>

#include "engine/blocks/batch_layout.h"
#include "engine/order/files/skip_tally.h"
#include "engine/requests/requests.h"

namespace forebay::engine {

class OpenFiles;
struct ReaderState;
enum class Scan : std::uint8_t { idle, running, over };  ///< What becomes of a ReaderState.

/// The open parts of a run, and the Reader of its orders: OpenFiles for a plan with one source, OpenBranches for a
/// combination. The Scheduler owns it. The order plane calls the first group of functions, one thread at a time; the
/// second group is for any thread.
class OpenParts : public Reader {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // For the order plane.
  /// A place for the fullness of a buffer of an order, as long as this object exists.
  [[nodiscard]] Gauge* add_gauge(bool of_files = false) { return &gauges_.emplace_back(Gauge{.of_files = of_files}); }
  /// Those places in the order of the stages, of a branch those that are its own.
  [[nodiscard]] const std::deque<Gauge>& gauges() const { return gauges_; }
  /// Asks a function of the program. Without an answer it is starved, and fails with Code::cancelled. An error of the
  /// function names it.
  [[nodiscard]] virtual Result<Function::Integers> call(const AskedFunction& asked,
                                                        std::span<const std::int64_t> question) = 0;
  [[nodiscard]] virtual OpenFiles& branch(std::size_t number) = 0;  ///< The parts of one source.
  /// True while a restart repeats the order without delivering: files with a stored index are then not scanned,
  /// unless the order needs attributes that are not stored.
  virtual void catch_up(bool catching_up) = 0;
  virtual void begin_batch(std::int64_t number) = 0;  ///< Handles released from now on belong to this batch.
  /// Number of files read in this pass; an open file counts with the fraction of its bytes that was read.
  [[nodiscard]] virtual double files_done() const = 0;
  /// Records of the files for which an order of this pass called `index`. Empty: no order did; files are read in order.
  [[nodiscard]] virtual std::optional<std::int64_t> indexed() const = 0;
  /// Records of this pass for which the first attribute of the orders of records was asked.
  [[nodiscard]] virtual std::int64_t judged() const = 0;
  virtual void begin_pass(std::int64_t epoch) = 0;  ///< Resets the counts of the pass.
  /// Called at the end of a pass. Fails with Code::data when the pass exceeds `max_fraction` of skips, or when a plain
  /// file that is read by its index was changed.
  [[nodiscard]] virtual Result<void> end_pass() const = 0;
  /// Called when all batches of the run are made. Fails with Code::data when a mapped file was changed. Returns false
  /// when the deadline passed; the next call continues.
  [[nodiscard]] virtual Result<bool> end_run(Deadline deadline) = 0;
  /// After `deadline`, the functions of Reader fail before they read more. With a deadline, `read` also leaves blocks
  /// that take long to the workers. Such a failure loses nothing; `interrupted` recognises its error.
  virtual void set_deadline(Deadline deadline) = 0;
  /// Whether the last interruption came from a source that has no rows yet, or from bytes that have not come yet.
  /// `wake` is called when that has changed.
  [[nodiscard]] virtual bool starved() const = 0;
  /// Whether the deadline, the cancellation hook or a lack of rows or bytes caused this error of an order.
  [[nodiscard]] virtual bool interrupted(const Error& error) const = 0;
  /// Reads the rows of a batch that are not in memory yet, fills the rest of the layout with the places of the rows,
  /// and releases the handles. An interrupted call is repeated with the same layout.
  [[nodiscard]] virtual Result<void> hand_over(BatchLayout& layout, std::int64_t batch) = 0;
  /// The result of `expect_batch`: the bytes that come from other machines, and whether they were asked for.
  struct Expected {
    std::int64_t bytes = 0;
    bool asked = true;
  };
  /// Asks for the bytes of the rows of a batch that `hand_over` will bring, and does not wait. Where it has not asked,
  /// the caller repeats the call later. A failure comes with `hand_over`.
  [[nodiscard]] virtual Expected expect_batch(std::span<const Handle> rows) = 0;
  /// Called before the first pass until it succeeds: looks for what the way of reading depends on.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  virtual void collect(std::int64_t finished) = 0;  ///< Recycles blocks that only batches before `finished` used.
  virtual void collect() = 0;
  virtual void limit_memory() = 0;   ///< Gives back mapped pages, drops cached content and compacts blocks when the
                                     ///< budget demands.
  virtual void close_readers() = 0;  ///< Closes the readers of rows. Called when no thread uses this object any more.

  // For any thread.
  [[nodiscard]] virtual std::uint32_t number_of(const ReaderState& file) const = 0;  ///< In the list of all files.
  /// A file of which a block should be scanned ahead; null when there is none. The file is reserved for the caller,
  /// which must call `scan` next. `soon`: the caller must not be held up; files whose next record is large, or which
  /// were just written, are left out.
  [[nodiscard]] virtual std::shared_ptr<ReaderState> claim(bool soon) = 0;
  /// Scans one block of a claimed file into its queue. When memory is short, `read` of the file fails later.
  virtual void scan(const std::shared_ptr<ReaderState>& file) = 0;
  [[nodiscard]] virtual bool keeps_content() const = 0;  ///< Content may be cached.
  virtual void drop_kept_content() = 0;                  ///< Ends that cache for the rest of the run.
  [[nodiscard]] virtual std::string take_notice() = 0;   ///< Of IndexedReader.
  virtual void stop() = 0;  ///< From now on `read` fails with Code::cancelled; wakes a thread that waits there.
  [[nodiscard]] virtual std::vector<std::int64_t> sizes() const = 0;  ///< Of the files at their first opening.
  [[nodiscard]] virtual std::int64_t records() const = 0;             ///< Records scanned or located so far.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;          ///< Bytes of the files, compressed if they are.
  [[nodiscard]] virtual SkipTally::Counts skipped() const = 0;        ///< Skips of the run so far.
  [[nodiscard]] virtual std::vector<const OpenParts*> branches() const { return {}; }  ///< Of a combination.
  [[nodiscard]] virtual RequestStats requests() const = 0;                             ///< To file systems.
  [[nodiscard]] virtual std::string oldest_request() const = 0;                        ///< As Requests::oldest.
  [[nodiscard]] virtual ShardReading reading() const = 0;                              ///< Without the amplification.
  [[nodiscard]] virtual std::int64_t row_bytes() const = 0;  ///< Of own rows; 0 where the process takes all rows.

 private:
  std::deque<Gauge> gauges_;  // used by the order plane only
};

/// What a stage that asks a function of the program gets; empty for one that asks none. Both arguments must outlive it.
[[nodiscard]] inline Ask ask_of(OpenParts& parts, const std::optional<AskedFunction>& asked) {
  if (!asked) return {};
  return [&parts, &asked](std::span<const std::int64_t> question) { return parts.call(*asked, question); };
}

/// The open parts of a run of `program`. `means` and `wake` as of OpenFiles.
[[nodiscard]] std::unique_ptr<OpenParts> open_parts(const Program& program, const std::shared_ptr<BufferPool>& pool,
                                                    const RunMeans& means, std::function<void()> wake);

}  // namespace forebay::engine
