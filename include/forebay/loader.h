// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/plan.h>
#include <forebay/run_options.h>

namespace forebay {

/// Counters of a run; `text()` ends in one sentence that names the bottleneck.
struct Stats {
  std::int64_t batches = 0;          ///< Delivered.
  std::int64_t rows = 0;             ///< Delivered.
  std::int64_t records = 0;          ///< Found in the files.
  std::int64_t bytes_read = 0;       ///< From files.
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
  std::int64_t threads = 0;
  [[nodiscard]] std::string bottleneck() const;    ///< The sentence.
  [[nodiscard]] std::string skipped_text() const;  ///< What was skipped, in words; empty when nothing was.
  [[nodiscard]] std::string text() const;
};

class Loader;

/// The batches of a run for one range-based `for`. The loop ends at the end of the run or at an error;
/// `Loader::status` has the error. A batch is valid in its turn of the loop; copy it to keep it. The loader must not be
/// moved during the loop. One thread uses the object.
class Batches {
 public:
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Batches* of = nullptr) : of_{of} {}
    Batch& operator*() const { return *of_->batch_; }
    Batch* operator->() const { return &*of_->batch_; }
    Iterator& operator++() {
      of_->advance();
      return *this;
    }
    void operator++(int) { of_->advance(); }
    bool operator==(std::default_sentinel_t) const { return !of_->batch_; }

   private:
    Batches* of_;
  };

  /// Takes the first batch, so a loop calls it once.
  [[nodiscard]] Iterator begin() {
    advance();
    return Iterator{this};
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  friend class Loader;
  explicit Batches(Loader& loader) : loader_{&loader} {}
  void advance();

  Loader* loader_;
  std::optional<Batch> batch_;
};

/// A running plan: delivers batches in order.
///
/// `next`, `next_within`, `batches`, `status`, `state`, `state_before` and `restore` are for one thread at a time;
/// `close`, `stats`, `complete_frac` and `plan` may be called from any thread, meanwhile too. A loader that was moved
/// from may be closed (which does nothing), assigned to and destroyed. In a forked child `next`, `state` and `restore`
/// of a loader of the parent fail, and its memory is not freed.
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
  /// Where the run stands, after the last batch that `next` gave: a small JSON object. A loader of the same plan over
  /// the same files goes on from there exactly, with any threads, prefetch, memory and shard (by files: any index, the
  /// same count). The files are the same when they have the sizes that they had when this run opened them. The first
  /// call asks for the sizes of the files that are not open yet. Fails with Code::state when the order depends on
  /// timing
  /// (`deterministic: false`), and when the rows cannot be read again (feeds).
  [[nodiscard]] Result<Json> state() const;
  /// The state before the last batch that `next` gave, for a consumer that could not use that batch.
  [[nodiscard]] Result<Json> state_before() const;
  /// Goes on from a state, at any time and any number of times. Fails with Code::state, and changes nothing, when the
  /// state is corrupt (data_loss), newer than this version, or of another plan or other files (failed_precondition;
  /// the message says what differs).
  [[nodiscard]] Result<void> restore(const Json& state);

  /// Stops and joins all threads and frees all memory but that of delivered batches, which stay valid. When several
  /// threads call it, each call returns after all of that is done.
  void close();

  [[nodiscard]] const Plan& plan() const;
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
