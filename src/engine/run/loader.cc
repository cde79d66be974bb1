// SPDX-License-Identifier: Apache-2.0
#include <forebay/loader.h>
#include <forebay/usual_resources.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "engine/index/source_sizes.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/fork_guard.h"
#include "engine/memory/machine.h"
#include "engine/memory/sync.h"
#include "engine/order/shards/batch_counts.h"
#include "engine/order/shards/element_shard.h"
#include "engine/order/shards/file_shard.h"
#include "engine/order/shards/run_shard.h"
#include "engine/program/plan_access.h"
#include "engine/read/file_versions.h"
#include "engine/requests/line_count.h"
#include "engine/run/deadline.h"
#include "engine/run/loader_access.h"
#include "engine/run/made_rows.h"
#include "engine/run/scheduler.h"
#include "engine/run/states.h"
#include "engine/tickets/finish/batch_content.h"

namespace forebay {

namespace {

constexpr std::int64_t max_prefetch = 1'000'000;
constexpr std::int64_t max_requests = 1024;
constexpr std::int64_t max_trace = std::int64_t{1} << 24;  // spans

Result<RunOptions> resolve(const engine::Program& program, RunOptions options) {
  FOREBAY_DO(engine::check_threads(options.threads));
  for (const auto& [name, found, max] :
       {std::tuple{"prefetch", options.prefetch, max_prefetch}, std::tuple{"memory", options.memory, INT64_MAX},
        std::tuple{"requests", options.requests, max_requests}, std::tuple{"trace", options.trace, max_trace}}) {
    if (found < 0 || found > max)
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("{}: must be an integer from 0 to {}, found {}", name, max, found)};
  }
  if (options.threads == 0) options.threads = program.threads;
  if (options.memory == 0) options.memory = program.memory;
  if (options.prefetch == 0) options.prefetch = program.prefetch;
  if (options.requests == 0) options.requests = engine::usual_requests;
  if (options.threads == 0) options.threads = engine::usual_threads();
  if (options.memory == 0) options.memory = engine::usual_memory();
  FOREBAY_DO(engine::resolve_shard(program, options));
  FOREBAY_DO(States::check(program, options.memory));
  return options;
}

}  // namespace

UsualResources usual_resources() { return {.threads = engine::usual_threads(), .memory = engine::usual_memory()}; }

class Loader::Running {
 public:
  Running(const Plan& plan, const RunOptions& options, std::shared_ptr<engine::PartCache> cache)
      : cache_{std::move(cache)},
        planned_{plan},
        plan_{engine::finding_files_once(plan, engine::FindFiles::as_planned)},
        options_{options},
        generation_{engine::fork_generation()},
        scheduler_{run_from(plan_, {})},
        states_{states_from(plan_, {})} {}
  ~Running() {
    // A forked child has no threads to join, and a lost thread may hold a lock: these are never destroyed there.
    if (forked()) engine::abandon(std::move(scheduler_)), engine::abandon(std::move(cache_));
  }

  [[nodiscard]] bool forked() const { return engine::forked_since(generation_); }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] Plan to_restore() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    const auto files = std::exchange(used_, true) ? engine::FindFiles::anew : engine::FindFiles::as_planned;
    return engine::finding_files_once(planned_, files);
  }
  /// The current scheduler. A restart replaces it while other threads may read counters or close.
  [[nodiscard]] std::shared_ptr<engine::Scheduler> scheduler() const EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return scheduler_;
  }
  /// The sizes of the files, of each that the current run has opened at its first opening. The other files are asked
  /// for theirs in the first call. For the thread that calls `next`.
  [[nodiscard]] const engine::SourceSizes& sizes() EXCLUDES(mutex_) {
    const engine::Program& program = engine::program_of(plan_);
    std::vector<std::int64_t> opened = scheduler()->sizes();
    if (data_files_.empty()) data_files_ = engine::data_files(program);
    if (engine::has_made_rows(program))
      opened.assign(data_files_.size(), engine::unknown_size);  // by runs of their own
    if (sizes_.empty() && !opened.empty()) {
      sizes_ = opened;
      engine::ask_sizes(program, sizes_);
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (opened[i] == engine::unknown_size || opened[i] == sizes_[i]) continue;
      sizes_[i] = opened[i];
      summary_.reset();
    }
    if (!summary_) summary_ = engine::summary(data_files_, sizes_, program.known);
    return *summary_;
  }
  /// The next batch, which stays the next one until `take`; null at the end.
  Result<std::shared_ptr<const Batch::Content>> peek(std::optional<std::chrono::milliseconds> timeout, bool& timed_out)
      EXCLUDES(mutex_) {
    timed_out = false;
    if (const engine::Lock lock{mutex_}; ahead_) return ahead_;
    auto content = scheduler()->next(timeout, timed_out);
    if (content.ok() && *content) {
      const engine::Lock lock{mutex_};
      if (!closed_) ahead_ = *content;
      after_ahead_ = (*content)->layout.after;
    }
    return content;
  }
  /// Counts the batch of `peek` as given, also when `close` has dropped it meanwhile.
  void take() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    if (!after_ahead_) return;
    used_ = true;
    position_ = *std::exchange(after_ahead_, std::nullopt);
    ahead_.reset();
  }
  void skip_to(std::int64_t epoch) EXCLUDES(mutex_) {
    scheduler()->skip_to(epoch);
    const engine::Lock lock{mutex_};
    position_.from = epoch;
    position_.begun = 0;
    if (!ahead_ || ahead_->layout.epoch >= epoch) return;
    ahead_.reset();
    after_ahead_.reset();
  }
  void end_epoch() EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    position_.begun = 1;
  }
  /// After the last batch that was taken.
  [[nodiscard]] engine::Position position() const EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return position_;
  }
  Result<void> restart(const engine::Position& at, std::vector<std::int64_t> sizes, const Plan& plan) EXCLUDES(mutex_) {
    scheduler()->close();
    std::shared_ptr<engine::Scheduler>
        other;  // after the swap: the old scheduler, or the new one if the loader was closed
    std::shared_ptr<States> states;
    engine::Position start = at;
    start.saved.reset();  // the new States has them
    const auto make = [&] {
      other = run_from(plan, start);
      states = states_from(plan, at);
    };
    if (auto thrown = engine::catch_all(make, engine::no_memory_for_run)) return *thrown;
    const engine::Lock lock{mutex_};
    if (closed_) return engine::was_closed;
    std::swap(scheduler_, other);
    plan_ = plan;
    if (states_) states_->retire();
    states_ = std::move(states);
    summary_.reset();
    lines_.reset();  // of the plan before
    sizes_ = std::move(sizes);
    position_ = start;
    ahead_.reset();
    after_ahead_.reset();
    return {};
  }
  Result<void> go_through(std::int64_t number, const LoaderAccess::PlaceOf& place_of, const std::function<bool()>& stop)
      EXCLUDES(mutex_) {
    constexpr std::chrono::milliseconds look{100};
    const std::int64_t apart = std::max<std::int64_t>(1, options_.batch_count);
    const std::int64_t last = number - 1 - (number - 1 - options_.batch_index % apart + apart) % apart;
    FOREBAY_DO(restart(last < 0 ? engine::Position{} : place_of(last), {}, plan_));
    if (last < 0) return {};
    const auto run = scheduler();
    run->leave_out_before(last);
    while (true) {
      bool timed_out = false;
      const auto content = run->next(look, timed_out);
      if (timed_out && stop && stop()) return Error{Code::cancelled, "seek: it was interrupted"};
      if (timed_out) continue;
      FOREBAY_DO(content);
      if (!*content)
        return Error{Code::config, Detail::invalid_argument,
                     fmt::format("seek: the run ends before batch {}; give the number of a batch that it has", number)};
      const engine::Lock lock{mutex_};
      position_ = (*content)->layout.after;
      return {};
    }
  }
  void close() EXCLUDES(mutex_) {
    std::shared_ptr<const Batch::Content> dropped;  // freed without the mutex
    const auto closing = [&] {
      const engine::Lock lock{mutex_};
      closed_ = true;
      dropped.swap(ahead_);
      return scheduler_;
    }();
    closing->close();
  }

  /// The states of the sequences; null in plans without states.
  [[nodiscard]] std::shared_ptr<States> states() const EXCLUDES(mutex_) {
    const engine::Lock lock{mutex_};
    return states_;
  }

  /// The shard, for the state of the run.
  [[nodiscard]] engine::Shard shard() const { return engine::shard_of(options_); }

  /// Adds the line to an error of a text file. Nothing: the deadline passed, and the next call goes on.
  [[nodiscard]] std::optional<Error> placed(const Error& error, engine::LineCount::Clock::time_point until) {
    if (failure && failure->message() == error.message()) return failure;  // it was given before
    std::optional<Error> out;
    const auto count = [&] {
      if (!lines_) lines_ = engine::LineCount::begin(engine::program_of(plan_), error);
      if (!lines_ || lines_->run(until)) out = lines_ ? lines_->placed(error) : error;
    };
    const auto thrown = engine::catch_all(count, engine::no_memory_for_run);
    if (out || thrown) lines_.reset();
    return thrown ? error : out;
  }

  // For the thread that calls `next`.
  std::optional<Error> failure;  ///< What the last `next` gave.
  std::string notice;            ///< Of the last restart.

 private:
  // For the thread that calls `next`.
  std::vector<std::string> data_files_;
  std::vector<std::int64_t> sizes_;             // by number of the file; empty until a state is saved or restored
  std::optional<engine::SourceSizes> summary_;  // of sizes_, when it was needed
  std::optional<engine::LineCount> lines_;      // of an error that was not given yet

  [[nodiscard]] std::shared_ptr<engine::Scheduler> run_from(const Plan& plan, const engine::Position& at) const {
    const Shard own = shard();
    if (!engine::own_stream(own)) return std::make_shared<engine::Scheduler>(engine::share_program(plan), options_, at);
    RunOptions whole = options_;  // of its own program
    whole.shard_index = 0;
    whole.shard_count = 1;
    const engine::Program& program = engine::program_of(plan);
    if (own.by == ShardBy::element)
      return std::make_shared<engine::Scheduler>(engine::element_shard(program, own.index, own.count), whole, at);
    const engine::FileShard files = engine::file_shard(program, own.index, own.count, whole);
    if (files.passes) whole.memory -= whole.memory / engine::FileShard::part_for_passes;
    return std::make_shared<engine::Scheduler>(files.program, whole, at, engine::usual_stuck_after,
                                               engine::RunParts{.passes = files.passes});
  }

  [[nodiscard]] std::shared_ptr<States> states_from(const Plan& plan, const engine::Position& at) const {
    if (engine::program_of(plan).batching.states.empty()) return nullptr;
    return std::make_shared<States>(engine::share_program(plan), shard(), at);
  }

  std::shared_ptr<engine::PartCache> cache_;  // which each run finds by its folder; null: there is none
  const Plan planned_;                        // as the loader was started
  Plan plan_;                                 // with what restarts have changed; for the thread that calls `next`
  RunOptions options_;
  std::uint64_t generation_;
  mutable engine::Mutex mutex_;
  std::shared_ptr<engine::Scheduler> scheduler_ GUARDED_BY(mutex_);
  std::shared_ptr<States> states_ GUARDED_BY(mutex_);  // made anew with the scheduler
  bool closed_ GUARDED_BY(mutex_) = false;
  bool used_ GUARDED_BY(mutex_) = false;                            // it was restored, or a batch was taken
  std::shared_ptr<const Batch::Content> ahead_ GUARDED_BY(mutex_);  // was peeked at; null after `close`
  std::optional<engine::Position> after_ahead_ GUARDED_BY(mutex_);  // the position after it
  engine::Position position_ GUARDED_BY(mutex_);
};

Loader::Loader(std::unique_ptr<Running> running) : running_{std::move(running)} {}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

Result<Loader> Loader::start(Plan plan, RunOptions options) {
  FOREBAY_TRY(const RunOptions resolved, resolve(engine::program_of(plan), options));
  if (resolved.row_identities) plan = engine::telling_rows(plan);
  FOREBAY_TRY(const auto cache, engine::PartCache::open({resolved.cache_dir, resolved.cache_size},
                                                        engine::data_files(engine::program_of(plan))));
  std::unique_ptr<Running> running;
  if (auto thrown = engine::catch_all([&] { running = std::make_unique<Running>(std::move(plan), resolved, cache); },
                                      engine::no_memory_for_run))
    return *thrown;
  return Loader{std::move(running)};
}

Result<std::optional<Batch>> Loader::next() {
  bool timed_out = false;
  return next_within(std::chrono::milliseconds::max(), timed_out);
}

namespace {

Error forked_error() {
  return Error{
      Code::state, Detail::failed_precondition,
      "this loader was created before fork(): its threads are not in the child process; create it in the child, "
      "or start processes with spawn"};
}

}  // namespace

Result<std::optional<Batch>> Loader::next_within(std::chrono::milliseconds timeout, bool& timed_out) {
  auto batch = peek_within(timeout, timed_out);
  if (batch.ok() && *batch) running_->take();
  return batch;
}

Result<std::optional<Batch>> Loader::peek() {
  bool timed_out = false;
  return peek_within(std::chrono::milliseconds::max(), timed_out);
}

Result<std::optional<Batch>> Loader::peek_within(std::chrono::milliseconds timeout, bool& timed_out) {
  if (running_->forked()) return forked_error();
  using Clock = engine::LineCount::Clock;
  const auto until = engine::deadline_of(Clock::now(), timeout);
  auto content = running_->peek(until ? std::optional{timeout} : std::nullopt, timed_out);
  if (!content.ok()) {
    std::optional<Error> error = running_->placed(content.error(), until.value_or(Clock::time_point::max()));
    timed_out = !error;
    if (!error) return std::optional<Batch>{};
    running_->failure = error;
    return *std::move(error);
  }
  if (!*content) return std::optional<Batch>{};
  return std::optional<Batch>{Batch{*std::move(content), running_->states()}};
}

void Loader::take() {
  if (!running_->forked()) running_->take();
}

const std::string& Loader::notice() const { return running_->notice; }
std::string Loader::take_notice() { return running_->forked() ? std::string{} : running_->scheduler()->take_notice(); }
std::string Loader::trace() const { return running_->forked() ? std::string{} : running_->scheduler()->trace(); }

Result<void> Loader::status() const {
  if (running_->forked()) return forked_error();
  return running_->failure ? Result<void>{*running_->failure} : Result<void>{};
}

void Loader::close() {
  if (running_ && !running_->forked()) running_->close();
}

std::shared_ptr<States> LoaderAccess::states(const Loader& loader) { return loader.running_->states(); }
Shard LoaderAccess::shard(const Loader& loader) { return loader.running_->shard(); }
Result<engine::Position> LoaderAccess::position(const Loader& loader) {
  if (loader.running_->forked()) return forked_error();
  return loader.running_->position();
}

Result<void> LoaderAccess::skip_to(Loader& loader, std::int64_t epoch) {
  if (loader.running_->forked()) return forked_error();
  loader.running_->skip_to(epoch);
  return {};
}

Result<void> LoaderAccess::go_through(Loader& loader, std::int64_t number, const PlaceOf& place_of,
                                      const std::function<bool()>& stop) {
  if (loader.running_->forked()) return forked_error();
  FOREBAY_DO(loader.running_->go_through(number, place_of, stop));
  loader.running_->failure.reset();
  loader.running_->notice.clear();
  return {};
}

void LoaderAccess::end_epoch(Loader& loader) { loader.running_->end_epoch(); }

engine::SourceSizes LoaderAccess::sizes(const Loader& loader) { return loader.running_->sizes(); }

Plan LoaderAccess::to_restore(const Loader& loader) { return loader.running_->to_restore(); }

Result<void> LoaderAccess::restart(Loader& loader, const engine::Position& position, std::vector<std::int64_t> sizes,
                                   std::string notice, std::optional<Plan> plan) {
  if (loader.running_->forked()) return forked_error();
  const Plan own = plan ? *std::move(plan) : loader.running_->plan();
  FOREBAY_DO(loader.running_->restart(position, std::move(sizes), own));
  loader.running_->failure.reset();
  loader.running_->notice = std::move(notice);
  return {};
}

const Plan& Loader::plan() const { return running_->plan(); }
std::optional<std::int64_t> Loader::length() const {
  const auto whole = PlanAccess::parts(plan()).batches;
  if (!whole || *whole == 0) return whole;
  return engine::batches_by_index(engine::program_of(plan()), running_->shard());
}
Stats Loader::stats() const { return running_->forked() ? Stats{} : running_->scheduler()->stats(); }
double Loader::complete_frac() const { return running_->forked() ? 0 : running_->scheduler()->complete_frac(); }

}  // namespace forebay
