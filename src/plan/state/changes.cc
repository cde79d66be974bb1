// SPDX-License-Identifier: Apache-2.0
#include "plan/state/changes.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <forebay/messages.h>

#include "base/draw.h"
#include "columns/crc32c.h"
#include "engine/order/branches/open_branches.h"
#include "engine/order/shards/batch_counts.h"
#include "engine/program/plan_access.h"
#include "engine/run/made_rows.h"
#include "plan/document/names.h"
#include "plan/state/state_document.h"

namespace forebay::plan {

namespace {

using engine::Program;
using engine::Section;

constexpr std::string_view mixture_stage = "mixture";
constexpr std::string_view options_name = "options";

Error corrupt(const Section& section, std::string_view what) {
  return refused(Detail::data_loss, fmt::format("corrupt state: section '{}' {}", section.stage, what));
}

Section section_of(std::string stage, std::size_t branches, const std::string& options) {
  Section out{.stage = std::move(stage), .values = {{"branches", static_cast<std::int64_t>(branches)}}};
  if (!options.empty()) out.texts.emplace_back(options_name, options);
  return out;
}

/// Reads what both kinds of sections have; `members` integers in all.
Result<Change> read_section(const Section& section, std::size_t members) {
  constexpr auto max_branches = static_cast<std::int64_t>(engine::OpenBranches::max_branches);
  Change out;
  const auto value = [&](std::string_view name) {
    const auto found = std::ranges::find(section.values, name, &std::pair<std::string, std::int64_t>::first);
    return found == section.values.end() ? -1 : found->second;
  };
  const std::int64_t branches = value("branches");
  if (section.values.size() != members || section.texts.size() > 1 || branches < 1 || branches > max_branches)
    return corrupt(section, "has other members than it should have");
  out.branches = static_cast<std::size_t>(branches);
  if (!section.texts.empty()) {
    if (section.texts.front().first != options_name) return corrupt(section, "has a text that no state has");
    out.options = section.texts.front().second;
  }
  if (members > 1) {
    out.until = {.pass = value("pass"), .row = value("row")};
    if (out.until.pass < 0 || out.until.row < 0) return corrupt(section, "says no place");
  }
  return out;
}

Error another_plan(const Difference& found, std::size_t branches) {
  std::string more;
  if (found.mixture && found.mixture->branches > branches)
    more = fmt::format(
        "; its combination had {} branches, and this plan has {}: branches can be added behind the others, and "
        "are not taken out; keep them, and give those of a `mix` that are to give no more rows the weight 0",
        found.mixture->branches, branches);
  return refused(Detail::failed_precondition, fmt::format("the state belongs to another plan; what differs: {}{}",
                                                          fmt::join(found.parts, ", "), more));
}

std::string accepting(std::string_view word, std::string_view what) {
  return fmt::format("accept {} to {}: load_state_dict(state, accept=[{}]) or `--accept {}`", quote(word), what,
                     quote(word), word);
}

constexpr std::string_view go_on_from_there = "go on with the new ones from there on";

/// The value that an option of the combination had, as JSON.
std::string value_of(const std::string& options, std::string_view name) {
  const auto json = parse_json(options);
  const Json* const value = json.ok() && json->is(Json::Kind::object) ? json->find(name) : nullptr;
  return value != nullptr ? value->text() : "unknown";
}

/// Fails when the options or branches differ and that is not accepted.
Result<void> check_accepted(const Difference& found, std::size_t branches, const Accepted& accepted) {
  const std::optional<Mixture>& mixture = found.mixture;
  const engine::Position& at = found.at;
  const std::string place = fmt::format("row {} of pass {}", at.mixed.row, at.mixed.pass);
  if (branches > mixture->branches && !accepted.branches)
    return refused(
        Detail::failed_precondition,
        fmt::format("the combination has {} branches, and had {} in the run that saved the state, which stands "
                    "before {}; {}",
                    branches, mixture->branches, place, accepting("branches", go_on_from_there)));
  if (contains(found.parts, until_part) && !accepted.until)
    return refused(
        Detail::failed_precondition,
        fmt::format("passes of the combination ended with `until` {} in the run that saved the state; {}",
                    value_of(mixture->options, until_part),
                    accepting("until", fmt::format("end them otherwise from the pass behind {} on", at.mixed.pass))));
  // A branch more has a weight of its own.
  if (!contains(found.parts, weights_part) || accepted.weights || branches > mixture->branches) return {};
  const std::string weights = value_of(mixture->options, weights_part);
  const std::string later =
      found.told ? fmt::format(
                       "; or keep those and say from which later pass on there are others: \"weights\": [[0, [those "
                       "of that run]], [{}, [others]]]",
                       at.epoch + 1)
                 : std::string{};
  return refused(
      Detail::failed_precondition,
      fmt::format("the weights of the mixture are others than those of the run that saved the state, {}, which "
                  "stands before {}; {}{}",
                  weights, place, accepting("weights", go_on_from_there), later));
}

Result<std::vector<Change>> changes_of(const Difference& found, const Program& inner, const Shard& shard,
                                       const Accepted& accepted) {
  const std::optional<Mixture>& mixture = found.mixture;
  const engine::Position& at = found.at;
  const std::size_t branches = inner.branches.size();
  if (found.parts.empty() && mixture && (!takes_turns(inner) || mixture->branches != branches))
    return refused(Detail::data_loss, fmt::format("corrupt state: it is one of {} branches, and this plan has {}",
                                                  mixture->branches, branches));
  if (found.parts.empty()) return mixture ? mixture->earlier : std::vector<Change>{};
  const auto may_differ = [&](const std::string& part) {
    const auto branch = branch_of(part);
    return part == weights_part || part == until_part || (branch && mixture && *branch >= mixture->branches);
  };
  if (!takes_turns(inner) || !std::ranges::all_of(found.parts, may_differ)) return another_plan(found, branches);
  if (!mixture)
    return refused(Detail::failed_precondition,
                   "the options of the combination are others than those of the run that saved the state, and the "
                   "Forebay that wrote it did not say which; go on with those of that run");
  FOREBAY_DO(check_accepted(found, branches, accepted));
  if (engine::own_stream(shard))
    return refused(
        Detail::failed_precondition,
        contains(found.parts, until_part)
            ? "shards by file or element do not agree on the pass from which a combination changes; keep `until`"
            : fmt::format("shards by file or element do not agree on the row from which a mixture changes; keep the "
                          "weights, and say others from a later pass on: \"weights\": [[0, {}], [{}, [others]]]",
                          value_of(mixture->options, weights_part), at.mixed.pass + 2));
  if (shard.batch_count > 1)
    return refused(
        Detail::failed_precondition,
        "shards by batch stand at different rows of the mixture: load the state in a loader without a shard, with the "
        "same `accept`, and give what its state_dict() says to the loaders of all shards");
  std::vector<Change> out;
  // A pass ends as it was to end when it began.
  const bool next_pass = at.mixed.row > 0 && std::ranges::count(found.parts, until_part) == std::ssize(found.parts);
  const engine::MixedPlace place = next_pass ? engine::MixedPlace{.pass = at.mixed.pass + 1} : at.mixed;
  Change until_here{.until = place, .branches = mixture->branches, .options = mixture->options};
  for (const Change& each : mixture->earlier) {
    if (each.until > place) {  // a `seek` has gone back behind this change, or it was to come with the next pass
      until_here.branches = each.branches;
      until_here.options = each.options;
      break;
    }
    out.push_back(each);
  }
  const bool unused = place == engine::MixedPlace{} || (!out.empty() && out.back().until == place);
  if (unused) return out;
  if (out.size() == max_changes)
    return refused(Detail::resource_exhausted,
                   fmt::format("the mixture of this run was changed {} times, which is all that a state has room for",
                               max_changes));
  out.push_back(std::move(until_here));
  return out;
}

/// The program in which the innermost one knows what its combination was before.
Result<std::shared_ptr<const Program>> knowing(const Program& program, const std::vector<Change>& earlier) {
  auto out = std::make_shared<Program>(program);
  if (program.made) {
    FOREBAY_TRY(const auto made, knowing(*program.made, earlier));
    replace_made(made, *out);
    return std::shared_ptr<const Program>{std::move(out)};
  }
  out->earlier.clear();
  for (const auto& [until, branches, options] : earlier) {
    if (branches > program.branches.size())
      return refused(Detail::data_loss, "corrupt state: its combination had more branches before than it has now");
    auto combining = program.bind_again(options, branches);
    if (!combining.ok())
      return refused(Detail::data_loss, fmt::format("corrupt state: its combination had options that no state has: {}",
                                                    combining.error().message()));
    out->earlier.push_back({.pass = until.pass,
                            .row = until.row,
                            .branches = branches,
                            .changing = options,
                            .combining = *std::move(combining)});
  }
  return std::shared_ptr<const Program>{std::move(out)};
}

}  // namespace

Result<Accepted> Accepted::of(std::span<const std::string> words) {
  Accepted out;
  for (const std::string& word : words) {
    if (word == weights_part) {
      out.weights = true;
    } else if (word == until_part) {
      out.until = true;
    } else if (word == "branches") {
      out.branches = true;
    } else {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("accept: must be \"weights\", \"until\" or \"branches\", found {}", quote(word))};
    }
  }
  return out;
}

std::optional<std::size_t> branch_of(std::string_view part) {
  constexpr std::string_view rows = "rows of ";
  if (part.starts_with(rows)) part.remove_prefix(rows.size());
  if (!part.starts_with(branch_prefix)) return std::nullopt;
  std::size_t out = 0;
  const auto [end, failure] = std::from_chars(part.data() + branch_prefix.size(), part.data() + part.size(), out);
  return failure == std::errc{} ? std::optional{out} : std::nullopt;
}

void add_mixture(const Program& program, std::vector<Section>& out) {
  if (!takes_turns(program)) return;
  const Program& inner = innermost(program);
  out.push_back(section_of(std::string{mixture_stage}, inner.branches.size(), inner.changing));
  for (const engine::EarlierCombining& each : inner.earlier) {
    const std::size_t number = static_cast<std::size_t>(&each - inner.earlier.data());
    Section section = section_of(fmt::format("{}/{}", mixture_stage, number), each.branches, each.changing);
    section.values.insert(section.values.end(), {{"pass", each.pass}, {"row", each.row}});
    out.push_back(std::move(section));
  }
}

bool is_mixture(std::string_view stage) { return stage.starts_with(mixture_stage); }

Result<std::optional<Mixture>> take_mixture(std::vector<Section>& sections) {
  std::optional<Mixture> out;
  std::vector<Section> own;
  std::ranges::copy_if(sections, std::back_inserter(own), is_mixture, &Section::stage);
  std::erase_if(sections, [](const Section& section) { return is_mixture(section.stage); });
  if (own.empty()) return out;
  out.emplace();
  std::vector<std::optional<Change>> earlier(own.size() - 1);
  bool whole = false;
  for (const Section& section : own) {
    if (section.stage == mixture_stage) {
      FOREBAY_TRY(const Change now, read_section(section, 1));
      if (std::exchange(whole, true)) return corrupt(section, "stands there twice");
      out->branches = now.branches;
      out->options = now.options;
      continue;
    }
    std::size_t number = 0;
    while (number < earlier.size() && section.stage != fmt::format("{}/{}", mixture_stage, number)) ++number;
    if (number == earlier.size() || earlier[number]) return corrupt(section, "does not belong there");
    FOREBAY_TRY(earlier[number], read_section(section, 3));
  }
  if (!whole || earlier.size() > max_changes) return corrupt(own.front(), "does not belong there");
  for (auto& change : earlier) {
    const bool first = out->earlier.empty();
    if (change->branches > out->branches ||
        (!first && (out->earlier.back().until >= change->until || out->earlier.back().branches > change->branches)))
      return corrupt(own.front(), "has changes in another order than that of their rows and branches");
    out->earlier.push_back(*std::move(change));
  }
  return out;
}

Result<Plan> go_on_with(const Plan& plan, const Shard& shard, const Difference& found, const Accepted& accepted) {
  const Program& program = engine::program_of(plan);
  FOREBAY_TRY(const std::vector<Change> earlier, changes_of(found, innermost(program), shard, accepted));
  if (earlier.empty() && innermost(program).earlier.empty()) return plan;
  FOREBAY_TRY(const auto changed, knowing(program, earlier));
  auto own = std::make_shared<Program>(*changed);
  for (const auto& [until, branches, options] : earlier) {
    for (const std::uint64_t each :
         {static_cast<std::uint64_t>(until.pass), static_cast<std::uint64_t>(until.row), std::uint64_t{branches},
          std::uint64_t{columns::crc32c(std::as_bytes(std::span{options}))}})
      own->stream = mix(own->stream ^ each);
  }
  auto parts = std::make_shared<PlanAccess::Parts>(PlanAccess::parts(plan));
  if (parts->batches && *parts->batches > 0) parts->batches = engine::batches_by_index(*own, {});
  parts->program = std::move(own);
  return PlanAccess::make(std::move(parts));
}

}  // namespace forebay::plan
