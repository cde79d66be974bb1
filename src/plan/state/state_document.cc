// SPDX-License-Identifier: Apache-2.0
#include "plan/state/state_document.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "columns/crc32c.h"
#include "engine/program/saved_states.h"
#include "plan/state/changes.h"
#include "plan/state/state.h"
#include "plan/state/state_data.h"

namespace forebay::plan {

using engine::Section;

namespace {

/// Fails when the texts of the sections exceed what a state may have.
Result<void> check_size(const std::vector<Section>& sections) {
  constexpr std::int64_t room_for_others = 1 << 20;
  std::int64_t bytes = 0;
  for (const Section& section : sections) {
    for (const auto& [name, text] : section.texts) bytes += std::ssize(text);
  }
  if (bytes <= max_state_bytes - room_for_others) return {};
  return refused(
      Detail::resource_exhausted,
      fmt::format("the saved states of the sequences take {} bytes as text, and a state has at most {}; make "
                  "`batch_size` or the shapes of `states` smaller, or save the state of the run where all "
                  "sequences have ended",
                  bytes, max_state_bytes - room_for_others));
}

/// Returns the checksum of all other members of the state. The layout of the JSON and the order of its members do not
/// matter.
std::string checksum(State state) {
  std::string text = fmt::format("forebay state {}\n", state_version);
  std::ranges::sort(state.sections, {}, &Section::stage);
  for (Section& section : state.sections) {
    text += fmt::format("section {}\n", section.stage);
    std::ranges::sort(section.values);
    for (const auto& [name, value] : section.values) text += fmt::format("{} {}\n", name, value);
    std::ranges::sort(section.texts);
    for (const auto& [name, value] : section.texts) text += fmt::format("text {} {}\n", name, value);
  }
  text += data_text(state.data);
  std::ranges::sort(state.plan);
  for (const auto& [name, hash] : state.plan) text += fmt::format("{} {}\n", name, hash);
  return fmt::format("{:08x}", columns::crc32c(std::as_bytes(std::span{text})));
}

Result<void> check_version(const Json& state) {
  if (state.is(Json::Kind::object) && state.find("version") == nullptr && state.find("forebay_state") != nullptr) {
    return refused(
        Detail::failed_precondition,
        fmt::format("the state was written by an older Forebay, whose states this one does not read (it reads "
                    "version {}); let that Forebay finish the run, or begin the run anew",
                    state_version));
  }
  if (!state.is(Json::Kind::object) || state.find("version") == nullptr)
    return refused(Detail::invalid_argument, "this is no state of a Forebay pipeline: it has no member 'version'");
  FOREBAY_TRY(const std::int64_t version, state_count(state, "version"));
  if (version == state_version) return {};
  return refused(
      Detail::failed_precondition,
      fmt::format("the state has version {}, this Forebay knows version {}; {}", version, state_version,
                  version > state_version ? "use the Forebay that wrote it, or a newer one"
                                          : "let the Forebay that wrote it finish the run, or begin the run anew"));
}

/// Fails for a member that is not in `known`: the checksum would not cover it.
Result<void> check_members(const Json& json, std::span<const std::string_view> known) {
  for (const auto& [name, value] : json.members()) {
    if (std::ranges::count(known, name) == 1) continue;
    return refused(Detail::data_loss, fmt::format("corrupt state: it has a member '{}', which no state has", name));
  }
  if (json.members().size() == known.size()) return {};
  return refused(Detail::data_loss, "corrupt state: a member is missing or stands there twice");
}

Result<void> check_members(const Json& json) {
  constexpr std::array<std::string_view, 5> whole{"version", "plan", "data", "sections", "check"};
  const Json& data = *json.find("data");
  std::vector<std::string_view> files{"files", "bytes", "digest", data.find("groups") != nullptr ? "groups" : "each"};
  if (data.find("versions") != nullptr) files.emplace_back("versions");
  FOREBAY_DO(check_members(json, whole));
  return check_members(data, files);
}

constexpr std::string_view branches_part = "branches";  // the hashes of all branches, one after the other

const std::string* hash_of(const PlanParts& parts, const std::string& name) {
  const auto found = std::ranges::find(parts, name, &PlanParts::value_type::first);
  return found == parts.end() ? nullptr : &found->second;
}

}  // namespace

Json sections_json(const std::vector<Section>& sections) {
  Json out = Json::object();
  for (const Section& section : sections) {
    Json& values = out.set(section.stage, Json::object());
    for (const auto& [name, value] : section.values) values.set(name, value);
    for (const auto& [name, value] : section.texts) values.set(name, value);
  }
  return out;
}

Result<std::vector<Section>> read_sections(const Json& state) {
  FOREBAY_TRY(const Json* const json, state_member(state, "sections", Json::Kind::object, "an object"));
  std::vector<Section> out;
  for (const auto& [stage, values] : json->members()) {
    FOREBAY_DO(state_member(*json, stage.c_str(), Json::Kind::object, "an object"));
    Section section{.stage = stage, .values = {}};
    for (const auto& [name, member] : values.members()) {
      const bool has_texts = stage == engine::saver_stage || stage == engine::combine_stage || is_mixture(stage);
      if (has_texts && member.is(Json::Kind::string)) {
        section.texts.emplace_back(name, member.string());
        continue;
      }
      FOREBAY_TRY(const std::int64_t value, state_count(values, name.c_str()));
      section.values.emplace_back(name, value);
    }
    out.push_back(std::move(section));
  }
  return out;
}

Result<Json> document_of(const State& state) {
  FOREBAY_DO(check_size(state.sections));
  Json out = Json::object();
  out.set("version", state_version);
  Json& parts = out.set("plan", Json::object());
  std::string branches;
  for (std::size_t i = 0; const std::string* hash = hash_of(state.plan, branch_part(i)); ++i) branches += *hash;
  for (const auto& [name, hash] : state.plan) {
    if (!name.starts_with(branch_prefix)) parts.set(name, hash);
  }
  if (!branches.empty()) parts.set(std::string{branches_part}, branches);
  out.set("data", data_json(state.data));
  out.set("sections", sections_json(state.sections));
  out.set("check", checksum(state));
  return out;
}

Result<State> read_document(const Json& json) {
  FOREBAY_DO(check_version(json));
  State out;
  FOREBAY_TRY(out.sections, read_sections(json));
  FOREBAY_TRY(const Json* const data, state_member(json, "data", Json::Kind::object, "an object"));
  FOREBAY_TRY(out.data, read_data(*data));
  FOREBAY_TRY(const Json* const parts, state_member(json, "plan", Json::Kind::object, "an object"));
  for (const auto& [name, hash] : parts->members()) {
    FOREBAY_DO(state_member(*parts, name.c_str(), Json::Kind::string, "a string"));
    if (name != branches_part) {
      out.plan.emplace_back(name, hash.string());
      continue;
    }
    const std::string& hashes = hash.string();
    for (std::size_t i = 0; i * branch_digits < hashes.size(); ++i)
      out.plan.emplace_back(branch_part(i), hashes.substr(i * branch_digits, branch_digits));
  }
  std::ranges::sort(out.plan);
  FOREBAY_TRY(const Json* const check, state_member(json, "check", Json::Kind::string, "a string"));
  FOREBAY_DO(check_members(json));
  if (check->string() != checksum(out)) {
    return refused(Detail::data_loss, "corrupt state: its checksum is wrong; it was edited or not written whole");
  }
  return out;
}

}  // namespace forebay::plan
