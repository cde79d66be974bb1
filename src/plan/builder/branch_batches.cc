// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/branch_batches.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plan/bind/stages.h"
#include "plan/builder/widenings.h"
#include "plan/document/faults.h"

#include <forebay/batchers/batch_ends.h>

namespace forebay::plan {

namespace {

constexpr std::string_view batch_end_name = "end of the batch";
constexpr std::string_view batcher_name = "batch_ends";

/// How the batches of a branch are delivered: the options that batchers have in common.
struct Form {
  Json pad = false;
  Json require_equal = false;
  bool operator==(const Form&) const = default;
};

const Json* steps_of(const Json& document) {
  const Json* const steps = document.find("steps");
  return steps != nullptr && steps->is(Json::Kind::array) ? steps : nullptr;
}

/// The batcher of a document; null: it has none.
const Json* batcher_of(const Json& document, const Registry& registry) {
  const Json* const steps = steps_of(document);
  if (steps == nullptr) return nullptr;
  const auto is_batcher = [&](const Json& step) { return find_type(registry.batchers(), stage_name(step)) != nullptr; };
  const auto found = std::ranges::find_if(steps->items(), is_batcher);
  return found == steps->items().end() ? nullptr : &*found;
}

/// The value of an option, or what it is when it is left out; empty: the batcher has no such option.
Json option_of(const Json& batcher, const BatcherType& type, std::string_view name) {
  const Json* const given = batcher.members().front().second.find(name);
  if (given != nullptr) return *given;
  const auto field = std::ranges::find(type.description.fields, name, &FieldInfo::name);
  return field == type.description.fields.end() ? Json{false} : field->default_value;
}

const CombineType* combination_of(const Json& document, const Registry& registry) {
  const Json* const source = document.find("source");
  return source != nullptr ? find_type(registry.combinations(), stage_name(*source)) : nullptr;
}

/// The branches of a document whose source combines some.
const Json* branches_in(const Json& document, const Registry& registry) {
  if (combination_of(document, registry) == nullptr) return nullptr;
  const Json* const branches = document.find("source")->members().front().second.find("branches");
  return branches != nullptr && branches->is(Json::Kind::array) && !branches->items().empty() ? branches : nullptr;
}

/// Whether a branch makes batches, or takes those of its own branches.
bool makes_batches(const Json& document, const Registry& registry) {
  if (batcher_of(document, registry) != nullptr) return true;
  const Json* const branches = branches_in(document, registry);
  const auto makes = [&](const Json& branch) { return makes_batches(branch, registry); };
  return branches != nullptr && std::ranges::all_of(branches->items(), makes);
}

/// The form of the batches that a branch makes; empty: it makes none, or in several forms.
std::optional<Form> form_of(const Json& document, const Registry& registry) {
  if (const Json* const batcher = batcher_of(document, registry)) {
    const BatcherType& type = *find_type(registry.batchers(), stage_name(*batcher));
    return Form{.pad = option_of(*batcher, type, "pad"), .require_equal = option_of(*batcher, type, "require_equal")};
  }
  const Json* const branches = branches_in(document, registry);
  if (branches == nullptr) return std::nullopt;
  const std::optional<Form> first = form_of(branches->items().front(), registry);
  const auto same = [&](const Json& branch) { return form_of(branch, registry) == first; };
  return std::ranges::all_of(branches->items(), same) ? first : std::nullopt;
}

Json ends_step(std::vector<Json> keys, const Form& form, const Place& place) {
  Json options = Json::object().mark(place);
  options.set("keys", Json::array(std::move(keys)));
  options.set("pad", form.pad);
  options.set("require_equal", form.require_equal);
  Json out = Json::object().mark(place);
  out.set(std::string{batcher_name}, std::move(options));
  return out;
}

/// Whether the rows of the branches lie side by side.
bool lie_side_by_side(const Json& document, const Registry& registry, std::size_t branches) {
  BranchList known;
  known.repeat.assign(branches, false);
  Faults ignored;
  const Json& options = document.find("source")->members().front().second;
  const auto combining = keep(combination_of(document, registry)->bind(options, known), ignored);
  return combining && !combining->make;
}

}  // namespace

std::string batch_end_of(std::size_t branch, bool side_by_side) {
  return side_by_side ? fmt::format("{} of branch {}", batch_end_name, branch) : std::string{batch_end_name};
}

bool is_of_batches(std::string_view tensor) { return tensor.starts_with(batch_end_name) || is_frames_in_batch(tensor); }

bool takes_batches(const Json& document, const Registry& registry) {
  const Json* const branches = branches_in(document, registry);
  const auto makes = [&](const Json& branch) { return makes_batches(branch, registry); };
  return branches != nullptr && batcher_of(document, registry) != nullptr &&
         std::ranges::all_of(branches->items(), makes);
}

Json batches_again(const Json& document, const Registry& registry) {
  const Json& batcher = *batcher_of(document, registry);
  return ends_step({Json{batch_end_of(0, false)}}, *form_of(document, registry), batcher.place());
}

bool passes_batches_on(const Json& document) {
  const Json* const steps = steps_of(document);
  if (steps == nullptr || steps->items().empty() || stage_name(steps->items().front()) != batcher_name) return false;
  const Json* const keys = steps->items().front().members().front().second.find("keys");
  return keys != nullptr && !keys->items().empty() && keys->items().front().string().starts_with(batch_end_name);
}

const Json& with_batches_of_branches(const Json& written, const Registry& registry, std::deque<Json>& kept) {
  const Json* const branches = branches_in(written, registry);
  if (branches == nullptr || batcher_of(written, registry) != nullptr) return written;
  const std::optional<Form> form = form_of(written, registry);
  if (!form) return written;
  const std::size_t count = branches->items().size();
  const bool side_by_side = lie_side_by_side(written, registry, count);
  std::vector<Json> keys;
  for (std::size_t i = 0; i < (side_by_side ? count : 1); ++i) keys.emplace_back(batch_end_of(i, side_by_side));
  const Place place = written.find("source")->place();
  Json step = ends_step(std::move(keys), *form, place);
  Json out = written;
  std::vector<Json> steps{std::move(step)};
  const Json* const after = steps_of(written);
  if (after != nullptr) steps.insert(steps.end(), after->items().begin(), after->items().end());
  out.set("steps", Json::array(std::move(steps)).mark(after != nullptr ? after->place() : place));
  return kept.emplace_back(std::move(out));
}

}  // namespace forebay::plan
