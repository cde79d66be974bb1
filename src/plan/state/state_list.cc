// SPDX-License-Identifier: Apache-2.0
// The states of all shards of a run, given as a list.
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/program/plan_access.h"
#include "engine/program/saved_states.h"
#include "plan/state/state.h"

namespace forebay::plan {

namespace {

Error refuse_list(std::string message) { return Error{Code::state, Detail::failed_precondition, std::move(message)}; }

/// One position of those in the list, which stand at the same place, with the saved states of all of them.
Result<Restart> read_list(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes, const Json& list,
                          const Accepted& accepted) {
  std::optional<Restart> out;
  std::vector<engine::SavedStates> saved;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    FOREBAY_TRY(Restart next, read_state(plan, shard, sizes, list.items()[i], accepted));
    if (next.at.saved) saved.push_back(*std::exchange(next.at.saved, nullptr));
    if (!out) out = next;
    if (next.at != out->at)
      return refuse_list(
          fmt::format("state 0 of the list stands before batch {}, and state {} before batch {}: a list has "
                      "the states that all shards saved after the same batch",
                      out->at.number(), i, next.at.number()));
    if (engine::program_of(next.plan).stream != engine::program_of(out->plan).stream)
      return refuse_list(fmt::format("states 0 and {} of the list are of mixtures that were changed otherwise", i));
  }
  if (!out) return refuse_list("the list of states is empty; it has the state of every shard");
  if (saved.empty()) return *std::move(out);
  FOREBAY_TRY(engine::SavedStates together, engine::join_saved(std::move(saved)));
  out->at.saved = std::make_shared<const engine::SavedStates>(std::move(together));
  return *std::move(out);
}

}  // namespace

Result<Restart> read_states(const Plan& plan, const Shard& shard, std::span<const std::int64_t> sizes,
                            const Json& states, const Accepted& accepted) {
  const bool list = states.is(Json::Kind::array);
  FOREBAY_TRY(Restart out, list ? read_list(plan, shard, sizes, states, accepted)
                                : read_state(plan, shard, sizes, states, accepted));
  if (out.at.saved) FOREBAY_DO(engine::check_rows(*out.at.saved, shard));
  return out;
}

}  // namespace forebay::plan
