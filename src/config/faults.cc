// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <forebay/describe.h>
#include <forebay/messages.h>

#include "config/utf8.h"

namespace forebay {

namespace {

bool is_index(std::string_view token) {
  return !token.empty() && token.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The name of the value in messages: the last key of its pointer and the indices after it, 'shape[2]'.
std::string name_of(const Json& json) {
  std::string_view pointer = json.place().pointer;
  std::string indices;
  while (true) {
    const std::size_t slash = pointer.rfind('/');
    if (slash == std::string_view::npos) return indices.empty() ? "the value" : "item " + indices;
    const std::string_view token = pointer.substr(slash + 1);
    if (!is_index(token)) return config::quoted(std::string{token} + indices);
    indices = fmt::format("[{}]{}", token, indices);
    pointer = pointer.substr(0, slash);
  }
}

void add(const Json& found, std::string message, std::vector<Error>& faults) {
  faults.emplace_back(Code::config, Detail::invalid_argument, std::move(message), found.place());
}

std::string hint(std::string_view name, std::span<const std::string> known) {
  const std::string near = nearest(name, known);
  return near.empty() ? std::string{} : fmt::format("; did you mean '{}'?", near);
}

std::vector<std::string> names_of(const std::vector<FieldInfo>& fields) {
  std::vector<std::string> names;
  for (const FieldInfo& field : fields) names.push_back(field.name);
  return names;
}

void refuse_unknown(const Json& json, const std::vector<std::string>& known, std::vector<Error>& faults) {
  constexpr std::size_t max_names = 20;
  std::vector<const Json::Member*> unknown;
  for (const Json::Member& member : json.members()) {
    if (std::ranges::find(known, member.first) == known.end()) unknown.push_back(&member);
  }
  std::ranges::sort(unknown, {}, [](const Json::Member* member) -> const std::string& { return member->first; });
  const std::string list =
      known.empty() ? "no options are known here" : fmt::format("known here: {}", fmt::join(known, ", "));
  for (std::size_t i = 0; i < std::min(unknown.size(), max_names); ++i) {
    const auto& [key, value] = *unknown[i];
    std::string near = hint(key, known);
    add(value, fmt::format("unexpected option {}{} {}", config::quoted(key), near.empty() ? ";" : near, list), faults);
  }
  if (unknown.size() > max_names)
    add(json, fmt::format("{} more unexpected options", unknown.size() - max_names), faults);
}

}  // namespace

void fault_type(const Json& found, std::string_view expected, std::vector<Error>& faults) {
  add(found, fmt::format("{} has the wrong type: expected {}, found {}", name_of(found), expected, found.kind_name()),
      faults);
}

void fault_value(const Json& found, std::string message, std::vector<Error>& faults) {
  add(found, fmt::format("{} {}", name_of(found), message), faults);
}

bool check_keys(const Json& json, const std::vector<FieldInfo>& fields, std::vector<Error>& faults) {
  if (!json.is(Json::Kind::object)) {
    fault_type(json, "an object", faults);
    return false;
  }
  refuse_unknown(json, names_of(fields), faults);
  for (const FieldInfo& field : fields) {
    if (field.required && json.find(field.name) == nullptr) {
      add(json, fmt::format("missing required option '{}'", field.name), faults);
    }
  }
  return true;
}

std::optional<std::size_t> read_choice(const Json& json, std::span<const std::string_view> names,
                                       std::vector<Error>& faults) {
  if (!json.is(Json::Kind::string)) return fault_type(json, "a string", faults), std::nullopt;
  const auto found = std::ranges::find(names, std::string_view{json.string()});
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::vector<std::string> known{names.begin(), names.end()};
  fault_value(json,
              fmt::format("must be one of: {}; found {}{}", fmt::join(known, ", "), config::quoted(json.string()),
                          hint(json.string(), known)),
              faults);
  return std::nullopt;
}

}  // namespace forebay
