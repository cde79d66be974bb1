// SPDX-License-Identifier: Apache-2.0
#include "plan/canonical.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/draw.h"
#include "columns/crc32c.h"
#include "config/json_text.h"
#include "engine/index/source_sizes.h"
#include "engine/program/plan_access.h"
#include "io/paths.h"
#include "io/patterns.h"
#include "plan/bind/stages.h"
#include "plan/builder/build.h"
#include "plan/document/branch_document.h"
#include "plan/document/names.h"
#include "plan/loader/lower.h"

namespace forebay::plan {
namespace {

/// Returns the value with integral floats as integers: 4.0 becomes 4.
Json plain(const Json& json) {
  constexpr double exact = 9007199254740992.0;
  switch (json.kind()) {
    case Json::Kind::number: {
      const double number = json.number();
      if (!std::isfinite(number)) return Json{std::string{config::name_of(number)}};
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

Json canonical_branches(const Json& branches, const Registry& registry);
Json stage(const Json& json, const Registry& registry);

Json canonical_value(const Json& value, FieldKind kind, const Registry& registry) {
  if (kind == FieldKind::branches) return canonical_branches(value, registry);
  return kind == FieldKind::decoder ? stage(value, registry) : plain(value);
}

Json with_defaults(const Json& options, const std::vector<FieldInfo>& fields, const Registry& registry) {
  Json out = Json::object();
  for (const FieldInfo& field : fields) {
    const Json* value = options.find(field.name);
    const Json& given = value != nullptr ? *value : field.default_value;
    out.set(field.name, canonical_value(given, field.kind, registry));
  }
  return out;
}

constexpr const char* draws_section = "draws of rows";

const Description* description_of(const Registry& registry, const std::string& name) {
  if (const auto* type = find_type(registry.sources(), name)) return &type->description;
  if (const auto* type = find_type(registry.decoders(), name)) return &type->description;
  if (const auto* type = find_type(registry.steps(), name)) return &type->description;
  if (const auto* type = find_type(registry.orders(), name)) return &type->description;
  if (const auto* type = find_type(registry.windows(), name)) return &type->description;
  if (const auto* type = find_type(registry.batchers(), name)) return &type->description;
  if (const auto* type = find_type(registry.combinations(), name)) return &type->description;
  return nullptr;
}

Json stage(const Json& json, const Registry& registry) {
  Json out = Json::object();
  for (const auto& [name, options] : json.members()) {
    const Description* description = description_of(registry, name);
    Json all = description != nullptr ? with_defaults(options, description->fields, registry) : plain(options);
    const auto* const type = find_type(registry.combinations(), name);
    if (type != nullptr && !type->draws.empty()) all.set(draws_section, type->draws);
    out.set(name, std::move(all));
  }
  return out;
}

/// A document or a branch, whose members are `infos`.
Json canonical(const Json& document, const std::vector<FieldInfo>& infos, const Registry& registry) {
  Json out = Json::object();
  for (const FieldInfo& field : infos) {
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

Json canonical_branches(const Json& branches, const Registry& registry) {
  std::vector<Json> out;
  for (const Json& branch : branches.items()) out.push_back(canonical(branch, branch_infos(), registry));
  return Json::array(std::move(out));
}

/// Adds the hashes of a source: the branches of a combination have one each.
void add_source(const Json& source, const std::string& text, const Registry& registry,
                std::vector<std::pair<std::string, std::uint64_t>>& out) {
  const auto& [name, options] = source.members().front();
  const auto* const type = find_type(registry.combinations(), name);
  if (type == nullptr) {
    out.emplace_back("source", fnv1a(text));
    return;
  }
  std::string rest = name;
  for (const FieldInfo& field : type->description.fields) {
    const Json& value = *options.find(field.name);
    if (field.name == type->by_pass) continue;  // a state has a hash of its own
    if (contains(type->may_change, field.name)) {
      out.emplace_back(field.name, fnv1a(value.text()));
      continue;
    }
    if (field.kind != FieldKind::branches) {
      rest += value.text();
      continue;
    }
    for (std::size_t i = 0; i < value.items().size(); ++i)
      out.emplace_back("branch/" + std::to_string(i), fnv1a(value.items()[i].text()));
  }
  out.emplace_back("source", fnv1a(rest));
  if (!type->draws.empty()) out.emplace_back(draws_section, fnv1a(type->draws));
}

/// The text of an object in which the value of `key` is replaced by the text `value`.
std::string text_with(const Json& object, std::string_view key, std::string_view value) {
  std::string out;
  for (const auto& [name, member] : object.members()) {
    out += out.empty() ? '{' : ',';
    config::append_json(name, out);
    out += ':';
    out += name == key ? value : member.text();
  }
  return out + '}';
}

/// The text of the source with this list of files. Without an option for files, the source as it is.
std::string source_text(const Json& source, const FilesPlace& where, std::string_view files) {
  const bool lists = !where.option.empty() && where.branches.empty();
  const Json* const options = lists ? source.find(where.plugin) : nullptr;
  if (options == nullptr) return source.text();
  return text_with(source, where.plugin, text_with(*options, where.option, files));
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

/// Returns the document with `made` of the option that lists its files or branches.
Json with_option(const Json& document, const FilesPlace& where, const std::function<Json(const Json&)>& made) {
  Json out = Json::object().mark(document.place());
  for (const auto& [key, value] : document.members()) {
    if (key != "source" || where.option.empty()) {
      out.members().emplace_back(key, value);
      continue;
    }
    Json source = Json::object().mark(value.place());
    for (const auto& [plugin, options] : value.members()) {
      Json all = Json::object().mark(options.place());
      for (const auto& [name, option] : options.members()) {
        const bool its = plugin == where.plugin && name == where.option;
        all.members().emplace_back(name, its ? made(option) : option);
      }
      source.members().emplace_back(plugin, std::move(all));
    }
    out.members().emplace_back(key, std::move(source));
  }
  return out;
}

}  // namespace

Json without_files(const Json& document, const FilesPlace& where) {
  return with_option(document, where, [&](const Json& option) {
    std::vector<Json> out;
    for (std::size_t i = 0; i < where.branches.size(); ++i)
      out.push_back(without_files(option.items()[i], where.branches[i]));
    return Json::array(std::move(out));
  });
}

std::uint64_t stage_hash(const Json& json, const Registry& registry) { return fnv1a(stage(json, registry).text()); }

Hashes hashes_of(const Json& document, const FilesPlace& where, std::span<const std::string> files,
                 const Registry& registry) {
  const Json whole = canonical(document, pipeline_infos(), registry);
  const Json& source = *whole.find("source");
  Hashes out;
  out.whole = fnv1a(text_with(whole, "source", source_text(source, where, "null")));
  for (const std::string& file : files) out.whole = mix(out.whole ^ columns::crc32c(std::as_bytes(std::span{file})));
  for (const auto& [key, value] : whole.members()) {
    if (key == "inputs" || key == "targets") continue;  // they only group the delivered tensors
    if (key == "epochs") continue;                      // a run may be lengthened
    if (key == "source") {
      add_source(value, source_text(value, where, "null"), registry, out.sections);
    } else if (key == "steps") {
      add_steps(value.items(), out.sections);
    } else {
      out.sections.emplace_back(key, fnv1a(value.text()));
    }
  }
  return out;
}

namespace {

/// A document or branch with the files that its program reads, by absolute paths.
Json lowered(const Json& document, const FilesPlace& where, const engine::Program& program, const std::string& folder) {
  const engine::Program& reads = engine::innermost(program);
  return with_option(document, where, [&](const Json& option) {
    std::vector<Json> out;
    for (std::size_t i = 0; i < where.branches.size(); ++i)
      out.push_back(lowered(option.items()[i], where.branches[i], reads.branches[i], folder));
    if (where.branches.empty()) {
      for (const std::string& path : reads.source.files) out.emplace_back(literal(io::resolve(path, folder)));
    }
    return Json::array(std::move(out));
  });
}

}  // namespace

Json lowered(const PlanAccess::Parts& parts) {
  return lowered(parts.without_files, parts.files, *parts.program, parts.folder);
}

}  // namespace forebay::plan
