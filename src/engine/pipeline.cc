// SPDX-License-Identifier: Apache-2.0
#include <forebay/pipeline.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/fork_guard.h"
#include "engine/machine.h"
#include "engine/scheduler.h"

namespace forebay {

namespace {

constexpr std::int64_t most_threads = 1024;
constexpr std::int64_t most_prefetch = 1'000'000;

Result<RunOptions> resolve(const engine::Program& program, RunOptions options) {
  const auto refuse = [](std::string_view name, std::int64_t found, std::int64_t most) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("{}: must be an integer from 0 to {}, found {}", name, most, found)};
  };
  if (options.threads < 0 || options.threads > most_threads) return refuse("threads", options.threads, most_threads);
  if (options.prefetch < 0 || options.prefetch > most_prefetch)
    return refuse("prefetch", options.prefetch, most_prefetch);
  if (options.memory < 0) return refuse("memory", options.memory, INT64_MAX);
  if (options.threads == 0) options.threads = program.threads;
  if (options.memory == 0) options.memory = program.memory;
  if (options.prefetch == 0) options.prefetch = program.prefetch;
  if (options.threads == 0) options.threads = std::min(engine::usable_processors(), most_threads);
  if (options.memory == 0) options.memory = engine::usable_memory() / 4;
  return options;
}

}  // namespace

class Pipeline::Running {
 public:
  Running(Plan plan, const RunOptions& options)
      : plan_{std::move(plan)},
        generation_{engine::fork_generation()},
        scheduler_{std::make_unique<engine::Scheduler>(plan_.share(), options)} {}
  ~Running() {
    // In a forked child there are no threads to join, and a lock may be held by one of them: leave it all alone.
    if (forked()) static_cast<void>(scheduler_.release());
  }

  [[nodiscard]] bool forked() const { return generation_ != engine::fork_generation(); }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] engine::Scheduler& scheduler() const { return *scheduler_; }

 private:
  Plan plan_;
  std::uint64_t generation_;
  std::unique_ptr<engine::Scheduler> scheduler_;
};

Pipeline::Pipeline(std::unique_ptr<Running> running) : running_{std::move(running)} {}
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

Result<Pipeline> Pipeline::start(Plan plan, RunOptions options) {
  FOREBAY_TRY(const RunOptions resolved, resolve(plan.program(), options));
  return Pipeline{std::make_unique<Running>(std::move(plan), resolved)};
}

Result<std::optional<Batch>> Pipeline::next() {
  bool timed_out = false;
  return next_within(std::chrono::milliseconds::max(), timed_out);
}

Result<std::optional<Batch>> Pipeline::next_within(std::chrono::milliseconds patience, bool& timed_out) {
  if (running_->forked()) {
    return Error{
        Code::state, Detail::failed_precondition,
        "this pipeline was created before fork(): its threads are not in the child process; create it in the child, "
        "or start processes with spawn"};
  }
  const bool for_ever = patience == std::chrono::milliseconds::max();
  FOREBAY_TRY(auto content, running_->scheduler().next(for_ever ? std::nullopt : std::optional{patience}, timed_out));
  if (!content) return std::optional<Batch>{};
  return std::optional<Batch>{Batch{std::move(content)}};
}

void Pipeline::close() {
  if (running_ && !running_->forked()) running_->scheduler().close();
}

const Plan& Pipeline::plan() const { return running_->plan(); }
Stats Pipeline::stats() const { return running_->forked() ? Stats{} : running_->scheduler().stats(); }
double Pipeline::complete_frac() const { return running_->forked() ? 0 : running_->scheduler().complete_frac(); }

}  // namespace forebay
