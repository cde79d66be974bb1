// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/epochs.h>
#include <forebay/plan.h>
#include <forebay/run_options.h>
#include <forebay/shard_reading.h>
#include <forebay/traffic.h>

namespace forebay {

/// Counters of one branch of a combination.
struct BranchStats {
  std::int64_t rows = 0;             ///< Delivered.
  std::int64_t records = 0;          ///< Found in the files.
  std::int64_t bytes_read = 0;       ///< From files.
  std::int64_t skipped_records = 0;  ///< Corrupt or malformed records that `on_corrupt` skipped.
  std::int64_t skipped_ranges = 0;   ///< Ranges of bytes in which no record could be found.
  std::int64_t skipped_files = 0;    ///< Files that `skip_file` left, or could not read.
  std::int64_t skipped_bytes = 0;    ///< Bytes of the skipped records, ranges and files.
};

/// How full a queue or a buffer of a run is.
struct Fullness {
  std::string name;           ///< For example "prefetch", "shuffle", "shuffle of files", "feed 'train'".
  std::int64_t held = 0;      ///< Batches, elements, files or rows in it.
  std::int64_t capacity = 0;  ///< The most that it takes.
};

/// How long a step took.
struct StepSeconds {
  std::string name;
  double seconds = 0;
};

/// Counters of a run; `text()` ends in one sentence that names the bottleneck.
struct Stats {
  std::int64_t batches = 0;          ///< Delivered.
  std::int64_t rows = 0;             ///< Delivered.
  std::int64_t records = 0;          ///< Found in the files.
  std::int64_t bytes_read = 0;       ///< From files.
  std::int64_t ordered_rows = 0;     ///< Of the batches whose order is decided.
  std::int64_t decoded_rows = 0;     ///< Made by tickets; their batches may be waiting.
  std::int64_t skipped_records = 0;  ///< Corrupt or malformed records that `on_corrupt` skipped.
  std::int64_t skipped_ranges = 0;   ///< Ranges of bytes in which no record could be found.
  std::int64_t skipped_files = 0;    ///< Files that `skip_file` left, or could not read.
  std::int64_t skipped_bytes = 0;    ///< Bytes of the skipped records, ranges and files.
  std::vector<Error> skipped;        ///< The first 16 skips, each with place and reason.
  double seconds = 0;                ///< Since the first `next`.
  double scan_seconds = 0;           ///< Worker time finding records, decompression included.
  double order_seconds = 0;          ///< Worker time deciding order.
  double decode_seconds = 0;         ///< Worker time in tickets.
  double idle_seconds = 0;           ///< Worker time waiting because enough was ready.
  double consumer_wait_seconds = 0;  ///< Time in which the consumer waited or helped.
  double ready_fill = 0;             ///< Mean share of the prefetch depth that was ready when `next` was called.
  double waiting_seconds = 0;        ///< How long the consumer has waited for the next batch; 0 when it does not wait.
  std::string waiting;               ///< What each thread does meanwhile, in words.
  std::int64_t memory_used = 0;      ///< Bytes charged to the budget now.
  std::int64_t memory_limit = 0;
  std::int64_t memory_pinned = 0;  ///< Bytes that are page-locked now (RunOptions::pin_memory), also to be used again.
  std::int64_t scan_memory = 0;    ///< Of `memory_used`: blocks of files, indexes, rows that the program gives.
  std::int64_t order_memory = 0;   ///< Of `memory_used`: what orders, windows and batchers keep.
  std::int64_t decode_memory = 0;  ///< Of `memory_used`: tickets and batches, those that the program holds, too.
  std::int64_t threads = 0;
  std::int64_t frames = 0;         ///< Delivered in padded tensors, along their first axis, without the padding.
  std::int64_t padded_frames = 0;  ///< And with it.
  /// Now: finished batches, the buffers of orders when the last batch was decided, and rows that the program gives.
  std::vector<Fullness> queues = {};
  RequestStats requests = {};  ///< For files of other machines.
  /// Of `decode_seconds`: each step that a ticket or a finished batch goes through, in the order of the plan.
  std::vector<StepSeconds> steps = {};
  std::vector<BranchStats> branches = {};  ///< Of a combination: the share of each branch.
  std::int64_t row_bytes = 0;  ///< Of a shard by row, element or batch: bytes of the records of its own rows.
  ShardReading reading = {};   ///< How such a shard reads its files, of those that were opened.
  [[nodiscard]] std::string bottleneck() const;    ///< The sentence.
  [[nodiscard]] std::string skipped_text() const;  ///< What was skipped, in words; empty when nothing was.
  [[nodiscard]] std::string queues_text() const;   ///< Each queue and the requests, in words.
  [[nodiscard]] std::string text() const;
};

/// A running plan: delivers batches in order.
///
/// `close`, `stats`, `complete_frac` and `plan` may be called from any thread, meanwhile too, and `state_at` by one
/// thread while another one is in `next`; all else is for one thread at a time. A loader that was moved from may be
/// closed (which does nothing), assigned to and destroyed. In a forked child `next`, `state` and `restore` of a loader
/// of the parent fail, and its memory is not freed.
class Loader {
 public:
  /// Starts the workers; nothing is opened before the first `next`.
  [[nodiscard]] static Result<Loader> start(Plan plan, RunOptions options = {});
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();  ///< Closes.

  /// The next batch, or nothing at the end of the run. After an error every further call gives the same error; after
  /// `close`, Code::cancelled, unless there was such an error.
  [[nodiscard]] Result<std::optional<Batch>> next();
  /// The batches from here on: `for (Batch& batch : loader.batches())`.
  [[nodiscard]] Batches batches() { return Batches{*this}; }
  /// The error that `next` gave, if it gave one; the end of the run is no error. `restore` clears it.
  [[nodiscard]] Result<void> status() const;
  /// Like `next`, but gives up after `timeout`: `timed_out` is then true and nothing is lost.
  [[nodiscard]] Result<std::optional<Batch>> next_within(std::chrono::milliseconds timeout, bool& timed_out);
  /// The batch that the next `next` gives, which then gives the same batch. The state stays where it is.
  [[nodiscard]] Result<std::optional<Batch>> peek();
  [[nodiscard]] Result<std::optional<Batch>> peek_within(std::chrono::milliseconds timeout, bool& timed_out);
  /// Counts the batch that the last `peek` gave as given, as `next` would. Does nothing without one.
  void take();
  /// The epochs from here on: `for (Epoch& epoch : loader.epochs())`. The first one is the rest of the present epoch.
  [[nodiscard]] Epochs epochs() { return Epochs{*this}; }

  /// Where the run stands, after the last batch that `next` gave: a small JSON object. A loader of the same plan over
  /// the same files goes on from there exactly, with any threads, prefetch, memory and shard (by files or
  /// elements: any index, the same count); `epochs` may differ, too. The files are the same when they have the names
  /// and the sizes that they had when this run opened them. The first call asks for the sizes of the files that are not
  /// open yet. Fails with Code::state when the order depends on timing (`deterministic: false`), and when the rows
  /// cannot be read again (feeds).
  [[nodiscard]] Result<Json> state() const;
  /// The same after a batch that this loader, or another one of the same plan, has given; for a consumer that reads
  /// ahead. Fails with Code::state (invalid_argument) for a batch of another plan or of other shards by file
  /// or element.
  [[nodiscard]] Result<Json> state(const Batch& after) const;
  /// The same after a batch of another process: `after` is its Batch::position. Or at an earlier `position`.
  [[nodiscard]] Result<Json> state_at(const Json& after) const;
  /// Where the run stands, as Batch::position tells it. No file is asked, so it is cheaper than a state.
  [[nodiscard]] Result<Json> position() const;
  /// Goes on from a state, at any time and any number of times. Fails with Code::state, and changes nothing, when the
  /// state is corrupt (data_loss), newer than this version, or of another plan or other files (failed_precondition;
  /// the message says what differs).
  /// `state` may be a list of the states that all shards by row have saved after the same batch: with saved states of
  /// sequences (Batch::save_state), another number of shards needs all of them.
  /// `accept` names what may differ from the run of the state: "weights" of a mixture, "until" of a combination,
  /// "branches" behind those that it had. The run goes on with the new ones from the first row that no batch before the
  /// state has needed, with `until` from the next pass on (docs/combine.md). Later states go on without `accept`.
  [[nodiscard]] Result<void> restore(const Json& state, std::span<const std::string> accept = {});
  /// Goes back to the beginning of the run; nothing is planned again. Fails with Code::state, and changes nothing, when
  /// the rows cannot be read again (feeds).
  [[nodiscard]] Result<void> begin_anew();
  /// Goes to batch `number` of the run, forwards or back, in any pass: `next` gives the batch with that number, or with
  /// shards by batch the first one of this process from there on, as the unbroken run does, with all its draws.
  /// `number` may be that of the end. Takes the time of a restart where the indexes tell how many rows a pass has, and
  /// passes have equally many; else it goes through the order from the beginning without decoding, asks `stop` ten
  /// times a second, and ends with Code::cancelled when that says true. The budgets of `skip_row` count from there on.
  ///
  /// Fails, and stays where it was: with Code::config for a negative number and one past the end, with Code::state
  /// where the order depends on timing, where rows cannot be read again (feeds), and where the program saves states.
  [[nodiscard]] Result<void> seek(std::int64_t number, const std::function<bool()>& stop = {});
  /// A sentence that the last `restore` has to say although it succeeded; else empty. A run that ended with a short
  /// batch and now has more epochs goes on with the first row of the next epoch.
  [[nodiscard]] const std::string& notice() const;

  /// A line for people, each once: where this run has stored the first indexes of a folder, or why it cannot store any;
  /// what an order leaves out; what a step has to say of a row; that the run ended without a batch though it has read
  /// records.
  /// Empty when there is nothing to say.
  [[nodiscard]] std::string take_notice();

  /// What each thread has done, when (RunOptions::trace): JSON that Perfetto and Chrome's tracing open. Any thread.
  [[nodiscard]] std::string trace() const;

  /// Stops and joins all threads and frees all memory but that of delivered batches, which stay valid. When several
  /// threads call it, each call returns after all of that is done.
  void close();

  [[nodiscard]] const Plan& plan() const;
  /// Number of batches of the whole run of this shard, when Plan::batches is known.
  [[nodiscard]] std::optional<std::int64_t> length() const;
  [[nodiscard]] Stats stats() const;
  /// Share of the run that was delivered, by bytes of files, or by records where all of them are indexed first (global
  /// shuffle); 1 at the end of the run; a `close` does not change it. For an endless run the
  /// share of the current epoch.
  [[nodiscard]] double complete_frac() const;

 private:
  class Running;
  explicit Loader(std::unique_ptr<Running> running);
  friend struct LoaderAccess;  ///< What states need of a run: src/engine/run/loader_access.h.
  std::unique_ptr<Running> running_;
};

/// Plans and starts a document: the path of one, or the document itself with the folder of its relative paths and the
/// objects of the program that it names.
[[nodiscard]] Result<Loader> load(const std::string& path, RunOptions options = {});
[[nodiscard]] inline Result<Loader> load(const char* path, RunOptions options = {}) {
  return load(std::string{path}, options);
}
[[nodiscard]] Result<Loader> load(const Json& document, RunOptions options = {}, const std::string& folder = ".",
                                  const Bindings& bindings = {});

}  // namespace forebay
