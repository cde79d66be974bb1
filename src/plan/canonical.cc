// SPDX-License-Identifier: Apache-2.0
#include "plan/canonical.h"

#include <cmath>

#include "io/paths.h"
#include "plan/data_files.h"
#include "plan/stages.h"

namespace forebay::plan {
namespace {

/// Returns the value with integral floats as integers: 4.0 becomes 4.
Json plain(const Json& json) {
  constexpr double exact = 9007199254740992.0;
  switch (json.kind()) {
    case Json::Kind::number: {
      const double number = json.number();
      if (std::trunc(number) == number && std::abs(number) < exact) return Json{static_cast<std::int64_t>(number)};
      return Json{number};
    }
    case Json::Kind::array: {
      std::vector<Json> items;
      for (const Json& item : json.items()) items.push_back(plain(item));
      return Json::array(std::move(items));
    }
    case Json::Kind::object: {
      Json out = Json::object();
      for (const auto& [key, value] : json.members()) out.set(key, plain(value));
      return out;
    }
    default:
      return json;
  }
}

Json with_defaults(const Json& options, const std::vector<FieldInfo>& fields) {
  Json out = Json::object();
  for (const FieldInfo& field : fields) {
    const Json* value = options.find(field.name);
    out.set(field.name, plain(value != nullptr ? *value : field.default_value));
  }
  return out;
}

const Description* description_of(const Registry& registry, const std::string& name) {
  if (const auto* type = find_type(registry.sources(), name)) return &type->description;
  if (const auto* type = find_type(registry.decoders(), name)) return &type->description;
  if (const auto* type = find_type(registry.steps(), name)) return &type->description;
  if (const auto* type = find_type(registry.orders(), name)) return &type->description;
  if (const auto* type = find_type(registry.batchers(), name)) return &type->description;
  return nullptr;
}

Json stage(const Json& json, const Registry& registry) {
  Json out = Json::object();
  for (const auto& [name, options] : json.members()) {
    const Description* description = description_of(registry, name);
    out.set(name, description != nullptr ? with_defaults(options, description->fields) : plain(options));
  }
  return out;
}

}  // namespace

Json canonical(const Json& document, const Registry& registry) {
  Json out = Json::object();
  for (const FieldInfo& field : pipeline_infos()) {
    if (field.name == "threads" || field.name == "memory" || field.name == "prefetch" || field.name == "shard")
      continue;
    const Json* value = document.find(field.name);
    if (field.name == "source" || field.name == "decode") {
      out.set(field.name, value != nullptr ? stage(*value, registry) : Json{});
    } else if (field.name == "steps" && value != nullptr) {
      std::vector<Json> items;
      for (const Json& item : value->items()) items.push_back(stage(item, registry));
      out.set(field.name, Json::array(std::move(items)));
    } else {
      out.set(field.name, plain(value != nullptr ? *value : field.default_value));
    }
  }
  return out;
}

namespace {

/// Returns the source without its files: a state compares their names and sizes one by one.
Json without_files(const Json& source, const Registry& registry) {
  Json out = source;
  for (auto& [plugin, options] : out.members()) {
    const SourceType* const type = find_type(registry.sources(), plugin);
    const FieldInfo* const field = type != nullptr ? paths_field(type->description) : nullptr;
    if (field != nullptr && options.find(field->name) != nullptr) options.set(field->name, Json{});
  }
  return out;
}

using NamedHash = std::pair<std::string, std::uint64_t>;

// Limits the size of a state: all steps after the first 32 share a part.
constexpr std::size_t max_names = 32;

void add_steps(const std::vector<Json>& steps, std::vector<NamedHash>& out) {
  std::string rest;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i >= max_names) {
      rest += steps[i].text() + "\n";
      continue;
    }
    const std::string name = steps[i].members().empty() ? "" : steps[i].members().front().first;
    out.emplace_back("steps/" + std::to_string(i) + " (" + name + ")", fnv1a(steps[i].text()));
  }
  if (!rest.empty()) out.emplace_back("steps/" + std::to_string(max_names) + " and later", fnv1a(rest));
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> sections(const Json& canonical, const Registry& registry) {
  std::vector<NamedHash> out;
  for (const auto& [key, value] : canonical.members()) {
    if (key == "inputs" || key == "targets") continue;  // they only group the delivered tensors
    if (key == "epochs") continue;                      // a run may be lengthened
    if (key == "source") {
      out.emplace_back(key, fnv1a(without_files(value, registry).text()));
    } else if (key == "steps") {
      add_steps(value.items(), out);
    } else {
      out.emplace_back(key, fnv1a(value.text()));
    }
  }
  return out;
}

}  // namespace forebay::plan
