// SPDX-License-Identifier: Apache-2.0
// Loader::seek.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/order/shards/batch_counts.h"
#include "engine/order/shards/element_shard.h"
#include "engine/order/shards/pass_counts.h"
#include "engine/program/plan_access.h"
#include "engine/run/loader_access.h"
#include "plan/state/state.h"

#include <forebay/loader.h>

namespace forebay {

namespace {

using engine::BranchCursor;
using engine::Position;
using engine::Program;

/// The program whose batches a shard numbers.
std::shared_ptr<const Program> numbered(const Plan& plan, const Shard& shard) {
  const bool dealt = shard.by == ShardBy::element && shard.count > 1;
  return dealt ? engine::element_shard(engine::program_of(plan), shard.index, shard.count)
               : engine::share_program(plan);
}

/// A pass of the run.
struct Pass {
  std::int64_t number = 0;
  std::int64_t first = 0;  ///< Row of the run, or with hard epochs its batch.
  std::vector<BranchCursor> branches = {};
};

/// The pass that has row `place` of the run, or with hard epochs batch `place`, as the indexes tell. Empty where they
/// do not, and behind the last pass.
std::optional<Pass> pass_with(const Program& program, std::int64_t place) {
  constexpr std::int64_t max_passes = 1'000'000;  // that are counted one by one
  engine::PassCounts counts{program, {}};
  Pass out{.branches = counts.cursors()};
  for (; out.number < max_passes; ++out.number) {
    if (program.epochs && out.number >= *program.epochs) return std::nullopt;
    std::optional<std::int64_t> size = counts.next();
    if (size && program.hard_epochs) size = program.batching.batches ? program.batching.batches(*size) : std::nullopt;
    if (!size || *size == 0) return std::nullopt;
    if (counts.alike()) {
      out.number = place / *size;
      out.first = out.number * *size;
      out.branches.assign(program.branches.size(), {.epoch = out.number});
      return program.epochs && out.number >= *program.epochs ? std::nullopt : std::optional{std::move(out)};
    }
    if (place - out.first < *size) return out;
    out.first += *size;
    out.branches = counts.cursors();
  }
  return std::nullopt;
}

/// Where the run stands before batch `number`, by arithmetic; empty where the indexes do not tell.
std::optional<Position> position_before(const Program& program, const Shard& shard, std::int64_t number) {
  const bool by_file = shard.by == ShardBy::file && shard.count > 1;
  const auto rows_a_batch = program.batching.max_rows;
  if (by_file || !program.batching.fixed || !rows_a_batch || !program.batch_orders.empty() ||
      engine::repeats_branches(program) || !engine::counted_by_index(program))
    return std::nullopt;
  std::int64_t row = 0;
  if (!program.hard_epochs && __builtin_mul_overflow(number, *rows_a_batch, &row)) return std::nullopt;
  const auto pass = pass_with(program, program.hard_epochs ? number : row);
  if (!pass) return std::nullopt;
  Position out{.epoch = pass->number, .next = number, .from = pass->number};
  if (program.hard_epochs) {
    out.batch = pass->first;
    out.begun = number > out.batch ? 1 : 0;
  } else {
    out.batch = pass->first / *rows_a_batch;
    out.pulled = pass->first % *rows_a_batch;
    out.begun = number > 0 && row - *rows_a_batch >= pass->first ? 1 : 0;
  }
  if (out.epoch > 0) out.branches = pass->branches;
  return out;
}

Error refuse(std::string message) {
  return Error{Code::state, Detail::failed_precondition, "seek: " + std::move(message)};
}

}  // namespace

Result<void> Loader::seek(std::int64_t number, const std::function<bool()>& stop) {
  const Program& program = engine::program_of(plan());
  const Shard shard = LoaderAccess::shard(*this);
  constexpr std::int64_t max_number = std::numeric_limits<std::int64_t>::max() / 4;
  if (number < 0 || number > max_number)
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("seek: must be the number of a batch, from 0 to {}, found {}", max_number, number)};
  if (!program.deterministic)
    return refuse(
        "the document says `deterministic: false`: its order depends on timing, so a number names no batch; set "
        "`deterministic` to true");
  if (!program.batching.states.empty())
    return refuse(
        "the states of these sequences are saved by the program, batch after batch, so no batch can be made without "
        "those before it; go on from a state (`restore`)");
  if (number == 0) return begin_anew();
  FOREBAY_DO(plan::check_replay(program));
  const auto own = numbered(plan(), shard);
  if (const auto length =
          engine::batches_by_index(program, {.index = shard.index, .count = shard.count, .by = shard.by});
      length && program.epochs && number > *length)
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("seek: the run has {} batches, so there is none with number {}; it must be at most {}, the "
                    "end of the run",
                    *length, number, *length)};
  // Where a restart may change a mixture, only the batch before tells.
  if (const auto at = position_before(*own, shard, number); at && !engine::takes_turns(program))
    return LoaderAccess::restart(*this, *at, {}, {});
  const auto place_of = [&](std::int64_t batch) { return position_before(*own, shard, batch).value_or(Position{}); };
  FOREBAY_TRY(const Position before, LoaderAccess::position(*this));
  const auto found = LoaderAccess::go_through(*this, number, place_of, stop);
  if (!found.ok()) FOREBAY_DO(LoaderAccess::restart(*this, before, {}, {}));
  return found;
}

}  // namespace forebay
