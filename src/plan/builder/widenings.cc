// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/widenings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/bind/stages.h"

namespace forebay::plan {

namespace {

Json* member(Json& object, std::string_view name) {
  if (!object.is(Json::Kind::object)) return nullptr;
  for (auto& [key, value] : object.members()) {
    if (key == name) return &value;
  }
  return nullptr;
}

/// The items of a list; null: it is none, or empty.
std::vector<Json>* items_of(Json* list) {
  return list != nullptr && list->is(Json::Kind::array) && !list->items().empty() ? &list->items() : nullptr;
}

bool put_behind_branches(Json& document, const Json& step, const Registry& registry);

/// Puts `step` behind the windows that are cut at the end of a branch. False: it ends with something else.
bool put_behind_windows(Json& branch, const Json& step, const Registry& registry) {
  std::vector<Json>* const steps = items_of(member(branch, "steps"));
  if (steps == nullptr) return put_behind_branches(branch, step, registry);
  const auto window_of = [&](const Json& each) { return find_type(registry.windows(), stage_name(each)); };
  const auto none = [&](const Json& each) { return window_of(each) == nullptr; };
  const auto windows = std::find_if(steps->rbegin(), steps->rend(), none).base();
  if (std::all_of(windows, steps->end(), [&](const Json& each) { return window_of(each)->widens; })) return false;
  steps->push_back(step);
  return true;
}

bool put_behind_branches(Json& document, const Json& step, const Registry& registry) {
  Json* const source = member(document, "source");
  if (source == nullptr || find_type(registry.combinations(), stage_name(*source)) == nullptr) return false;
  std::vector<Json>* const branches = items_of(member(source->members().front().second, "branches"));
  return branches != nullptr &&
         std::ranges::all_of(*branches, [&](Json& each) { return put_behind_windows(each, step, registry); });
}

}  // namespace

std::string_view stage_name(const Json& stage) {
  const bool named = stage.is(Json::Kind::object) && stage.members().size() == 1;
  return named ? std::string_view{stage.members().front().first} : std::string_view{};
}

namespace {

/// Takes the last step of all branches of a `concat` and puts it before `stateful`. False: it is no `unroll`, or they
/// have unlike ones.
bool take_segments_out(Json& document) {
  Json* const source = member(document, "source");
  std::vector<Json>* const steps = items_of(member(document, "steps"));
  if (source == nullptr || steps == nullptr) return false;
  if (stage_name(*source) != "concat" || stage_name(steps->front()) != "stateful") return false;
  std::vector<Json>* const branches = items_of(member(source->members().front().second, "branches"));
  if (branches == nullptr) return false;
  std::vector<std::vector<Json>*> ends;
  for (Json& branch : *branches) {
    ends.push_back(items_of(member(branch, "steps")));
    if (ends.back() == nullptr || stage_name(ends.back()->back()) != "unroll") return false;
    if (!(ends.back()->back() == ends.front()->back())) return false;
  }
  steps->insert(steps->begin(), ends.front()->back());
  for (std::vector<Json>* const each : ends) each->pop_back();
  return true;
}

}  // namespace

const Json& with_widenings_moved(const Json& written, const Registry& registry, std::deque<Json>& kept) {
  const Json* out = &written;
  if (Json moved = written; take_segments_out(moved)) out = &kept.emplace_back(std::move(moved));
  while (true) {
    const Json* const steps = out->find("steps");
    if (steps == nullptr || steps->items().empty()) return *out;
    const Json& step = steps->items().front();
    const WindowType* const type = find_type(registry.windows(), stage_name(step));
    if (type == nullptr || !type->widens) return *out;
    Json moved = *out;
    if (!put_behind_branches(moved, step, registry)) return *out;
    std::vector<Json>& left = member(moved, "steps")->items();
    left.erase(left.begin());
    out = &kept.emplace_back(std::move(moved));
  }
}

}  // namespace forebay::plan
