// SPDX-License-Identifier: Apache-2.0
// The states of all shards of a run, given as a list.
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/program/saved_states.h"
#include "plan/state/state.h"

namespace forebay::plan {

namespace {

Error refuse_list(std::string message) { return Error{Code::state, Detail::failed_precondition, std::move(message)}; }

/// One position of those in the list, which stand at the same place, with the saved states of all of them.
Result<engine::Position> read_list(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                                   const Json& list) {
  engine::Position out;
  std::vector<engine::SavedStates> saved;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    FOREBAY_TRY(engine::Position at, read_state(plan, shard, sizes, list.items()[i]));
    if (at.saved) saved.push_back(*std::exchange(at.saved, nullptr));
    if (i == 0) out = at;
    if (at == out) continue;
    return refuse_list(
        fmt::format("state 0 of the list stands before batch {}, and state {} before batch {}: a list has "
                    "the states that all shards saved after the same batch",
                    out.number(), i, at.number()));
  }
  if (list.items().empty()) return refuse_list("the list of states is empty; it has the state of every shard");
  if (saved.empty()) return out;
  FOREBAY_TRY(engine::SavedStates together, engine::join_saved(std::move(saved)));
  out.saved = std::make_shared<const engine::SavedStates>(std::move(together));
  return out;
}

}  // namespace

Result<engine::Position> read_states(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                                     const Json& states) {
  const bool list = states.is(Json::Kind::array);
  FOREBAY_TRY(engine::Position out,
              list ? read_list(plan, shard, sizes, states) : read_state(plan, shard, sizes, states));
  if (out.saved) FOREBAY_DO(engine::check_rows(*out.saved, shard));
  return out;
}

}  // namespace forebay::plan
