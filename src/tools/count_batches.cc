// SPDX-License-Identifier: Apache-2.0
#include <forebay/count.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <forebay/loader.h>

#include "engine/index/index_parallel.h"
#include "engine/memory/buffer_pool.h"
#include "engine/memory/machine.h"
#include "engine/order/shards/batch_counts.h"
#include "engine/program/plan_access.h"
#include "io/file_system.h"

namespace forebay {

namespace {

using engine::Program;

constexpr std::chrono::milliseconds between_questions{20};

/// Whether indexes tell how many records the files have.
bool indexed(const Source& source) { return !source.rows && source.files_a_part == 0; }

/// Whether the program or a branch of it looks into records, so that an index takes their decoding.
bool looks(const Program& program) {
  if (program.made) return looks(*program.made);
  return engine::looks_into_records(program) || std::ranges::any_of(program.branches, looks);
}

/// Makes the indexes that are missing, those of branches, too. They are in memory only as long as they are made.
Result<void> index_all(const Program& program, const CountOptions& options,
                       const std::shared_ptr<engine::IndexStores>& stores) {
  if (program.made) return index_all(*program.made, options, stores);
  for (const Program& branch : program.branches) FOREBAY_DO(index_all(branch, options, stores));
  if (!program.branches.empty() || !indexed(program.source)) return {};
  const auto pool = std::make_shared<engine::BufferPool>(engine::usable_memory() / 4);
  std::vector<std::uint32_t> files(program.source.files.size());
  std::iota(files.begin(), files.end(), 0U);
  return engine::index_in_parallel(program, files, {.pool = pool, .threads = options.threads, .stores = stores},
                                   options.go_on, [](const auto&, const auto&) { return Result<void>{}; });
}

/// Fails where rows come from the program while a run reads them.
Result<void> check_rows_are_at_hand(const Program& program) {
  if (program.made) return check_rows_are_at_hand(*program.made);
  for (const Program& branch : program.branches) FOREBAY_DO(check_rows_are_at_hand(branch));
  if (!program.source.rows || program.source.rows->resident()) return {};
  return Error{Code::state, Detail::failed_precondition,
               program.source.rows->replays()
                   ? "the rows that functions of the program make are known when a run has made them: count its batches"
                   : "the rows of a feed come once, so they cannot be counted"};
}

/// Counts the batches of a run of its own.
Result<std::optional<std::int64_t>> count_by_running(const Plan& plan, const CountOptions& options) {
  RunOptions run{.threads = options.threads, .index_dir = options.index_dir};
  run.take(options.shard);
  FOREBAY_TRY(Loader loader, Loader::start(plan, run));
  for (std::int64_t batches = 0;;) {
    bool timed_out = false;
    FOREBAY_TRY(const auto batch, loader.next_within(between_questions, timed_out));
    if (!options.go_on()) return Error{Code::cancelled, "interrupted"};
    if (timed_out) continue;
    if (!batch || (options.epochs && batch->epoch() >= *options.epochs)) return std::optional{batches};
    ++batches;
  }
}

}  // namespace

Result<std::optional<std::int64_t>> count_batches(const Plan& plan, const CountOptions& options) {
  using Count = std::optional<std::int64_t>;
  const Program& program = engine::program_of(plan);
  if (PlanAccess::parts(plan).batches == 0) return Count{0};
  if (!program.epochs && !options.epochs) return Count{};
  FOREBAY_DO(engine::check_threads(options.threads));
  if (engine::counted_by_index(program, options.shard)) {
    engine::BatchCount what{.epochs = options.epochs,
                            .limits = {.max_files = SIZE_MAX,
                                       .max_turns = std::int64_t{1} << 30,
                                       .stores = std::make_shared<engine::IndexStores>(options.index_dir)}};
    if (const Count known = batches_by_index(program, options.shard, what)) return known;
    if (options.decode || !looks(program)) {
      FOREBAY_DO(index_all(program, options, what.limits.stores));
      what.limits.stores = std::make_shared<engine::IndexStores>(options.index_dir);  // which looks at what was stored
      if (const Count known = batches_by_index(program, options.shard, what)) return known;
    }
  }
  if (!options.decode) return Count{};
  FOREBAY_DO(check_rows_are_at_hand(program));
  return count_by_running(plan, options);
}

}  // namespace forebay
