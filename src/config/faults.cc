// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <forebay/describe.h>
#include <forebay/messages.h>

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
    if (!is_index(token)) return quote(std::string{token} + indices);
    indices = fmt::format("[{}]{}", token, indices);
    pointer = pointer.substr(0, slash);
  }
}

void add(const Json& found, std::string message, std::vector<Error>& faults) {
  faults.emplace_back(Code::config, Detail::invalid_argument, std::move(message), found.place());
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
    add(value, fmt::format("unexpected option {}{} {}", quote(key), near.empty() ? ";" : near, list), faults);
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

namespace {

/// The member or item of that name; null where there is none.
const Json* find_child(const Json& json, const std::string& key) {
  if (json.is(Json::Kind::object)) return json.find(key);
  std::size_t index = 0;
  const auto read = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool there = read.ec == std::errc{} && read.ptr == key.data() + key.size() && index < json.items().size();
  return there ? &json.items()[index] : nullptr;
}

bool placed(const Place& place) { return place.line > 0 || !place.pointer.empty(); }

/// The place of the option, or that of what it would be in, with the rest of the way in the pointer.
Place place_of(const std::vector<std::string>& field, const Json& options) {
  Place place = options.place();
  const Json* at = &options;
  for (const std::string& key : field) {
    at = at == nullptr ? nullptr : find_child(*at, key);
    if (at != nullptr && placed(at->place())) {
      place = at->place();
    } else {
      place.pointer += "/" + pointer_token(key);
    }
  }
  return place;
}

Error fault_at_option(const Error& fault, const Json& options) {
  Place place = fault.place();
  if (!placed(place) && !place.field.empty()) {
    const Place found = place_of(place.field, options);
    place.file = found.file, place.pointer = found.pointer, place.line = found.line, place.column = found.column;
  }
  place.field.clear();
  return Error{fault.code(), fault.detail(), fault.message(), std::move(place)}.at(options.place());
}

}  // namespace

Error at_options(const Error& error, const Json& options) {
  if (error.faults().empty()) return fault_at_option(error, options);
  std::vector<Error> faults;
  for (const Error& fault : error.faults()) faults.push_back(fault_at_option(fault, options));
  return Error::all(std::move(faults)).at(options.place());
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
              fmt::format("must be one of: {}; found {}{}", fmt::join(known, ", "), quote(json.string()),
                          hint(json.string(), known)),
              faults);
  return std::nullopt;
}

}  // namespace forebay
