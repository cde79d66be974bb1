// SPDX-License-Identifier: Apache-2.0
// Loader::seek.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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

using engine::Position;
using engine::Program;

/// The program whose batches a shard numbers.
std::shared_ptr<const Program> numbered(const Plan& plan, const Shard& shard) {
  const bool dealt = shard.by == ShardBy::element && shard.count > 1;
  return dealt ? engine::element_shard(engine::program_of(plan), shard.index, shard.count)
               : engine::share_program(plan);
}

/// The rows of each pass, where all passes have as many and the indexes tell.
std::optional<std::int64_t> rows_of_a_pass(const Program& program, const Shard& shard) {
  const bool by_file = shard.by == ShardBy::file && shard.count > 1;
  if (by_file || !program.batching.fixed || !program.batching.max_rows || !program.batch_orders.empty() ||
      engine::repeats_branches(program) || !engine::counted_by_index(program))
    return std::nullopt;
  engine::PassCounts counts{program, {}};
  const auto rows = counts.next();
  return rows && *rows > 0 && counts.alike() ? rows : std::nullopt;
}

/// Where the run stands before batch `number`, by division; empty where that does not tell.
std::optional<Position> position_before(const Program& program, const Shard& shard, std::int64_t number) {
  const auto rows = rows_of_a_pass(program, shard);
  if (!rows) return std::nullopt;
  std::int64_t a_pass = 0;  // batches, with hard epochs
  std::int64_t first = 0;   // row of the batch
  if (program.hard_epochs) {
    a_pass = program.batching.batches ? program.batching.batches(*rows).value_or(0) : 0;
    if (a_pass == 0) return std::nullopt;
  } else if (__builtin_mul_overflow(number, *program.batching.max_rows, &first)) {
    return std::nullopt;
  }
  const std::int64_t epoch = program.hard_epochs ? number / a_pass : first / *rows;
  if (program.epochs && epoch >= *program.epochs) return std::nullopt;  // behind the last batch
  Position out{.epoch = epoch, .next = number, .from = epoch};
  if (program.hard_epochs) {
    out.batch = epoch * a_pass;
    out.begun = number > out.batch ? 1 : 0;
  } else {
    out.batch = epoch * *rows / *program.batching.max_rows;
    out.pulled = epoch * *rows % *program.batching.max_rows;
    out.begun = number > 0 && (first - *program.batching.max_rows) / *rows == epoch ? 1 : 0;
  }
  if (epoch > 0) out.branches.assign(program.branches.size(), {.epoch = epoch});
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
  if (const auto at = position_before(*own, shard, number)) return LoaderAccess::restart(*this, *at, {}, {});
  FOREBAY_TRY(const Position before, LoaderAccess::position(*this));
  const auto found = LoaderAccess::go_through(*this, number, stop);
  if (!found.ok()) FOREBAY_DO(LoaderAccess::restart(*this, before, {}, {}));
  return found;
}

}  // namespace forebay
