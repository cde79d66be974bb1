// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/attributes.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/draw.h"
#include "plan/canonical.h"

namespace forebay::plan {

namespace {

/// The type of the expression of an attribute, and its name for messages.
std::pair<expression::Type, std::string_view> wanted_of(AttributeKind kind) {
  if (kind == AttributeKind::condition) return {expression::Type::boolean, "a condition, such as label >= 0,"};
  if (kind == AttributeKind::real) return {expression::Type::real, "a real number"};
  if (kind == AttributeKind::text) return {expression::Type::string, "a string, such as the name of a tensor,"};
  return {expression::Type::integer, "an integer"};
}

}  // namespace

Result<expression::Expression> bind_attribute(const Attribute& attribute, const Schema& schema) {
  FOREBAY_TRY(const expression::Tree tree, expression::parse(attribute.expression));
  FOREBAY_TRY(expression::Expression bound, expression::bind(tree, schema));
  const auto [type, wanted] = wanted_of(attribute.kind);
  if (bound.type() == type) return bound;
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("the expression is {}, but {} is wanted", expression::to_string(bound.type()), wanted)};
}

Result<void> check_steps(const engine::EarlyWork& alone, const Attribute& attribute,
                         const std::vector<engine::PlacedStep>& late) {
  const std::vector<bool> needed = needed_steps(late, alone);
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (!needed[i]) continue;
    if (late[i].draws) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("the condition reads what '{}' ({}) makes of a random draw, which is not known when the "
                               "order is decided; read other tensors, or stand before that step",
                               late[i].name, late[i].pointer)};
    }
    if (late[i].asks_record) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("the condition reads what '{}' of the source says of each record, which is not known "
                               "when the order is decided; read other tensors",
                               late[i].name)};
    }
    if (late[i].expensive && !attribute.early) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("the condition reads the output of '{}' ({}), which would run a second time for every "
                               "record; read other tensors, or say \"early\": true",
                               late[i].name, late[i].pointer)};
    }
  }
  return {};
}

bool names_unknown(const Attribute& attribute, const UnknownTensors& unknown) {
  const auto tree = expression::parse(attribute.expression);
  return tree.ok() && unknown.contain_any(tree->names());
}

void add_attribute_fault(const Error& error, const Attribute& attribute, const Stage& stage, Faults& faults) {
  Faults found;
  keep(error, found);
  for (const Error& fault : found)
    faults.push_back(at_options(fault.at(Place{.field = attribute.option}), *stage.options));
}

namespace {

constexpr std::uint64_t attribute_version = 2;  // increased when the same document gives other values

/// The hash of a parsed expression: white space does not change it.
std::uint64_t hash_of(const expression::Tree& tree) {
  const auto hash_literal = [](const expression::Literal& literal) {
    const std::string text = std::visit([](const auto& value) { return fmt::format("{}", value); }, literal);
    return mix(fnv1a(text) + literal.index());
  };
  std::uint64_t out = attribute_version;
  for (const expression::Node& node : tree.nodes) {
    out = mix(out ^ static_cast<std::uint64_t>(node.op));
    out = mix(out ^ (std::uint64_t{node.left} << 32 | node.right));
    out = mix(out ^ fnv1a(node.name));
    out = mix(out ^ hash_literal(node.value));
    for (const expression::Literal& literal : node.list) out = mix(out ^ hash_literal(literal));
  }
  return out;
}

}  // namespace

void sign_attributes(const Stages& stages, const std::vector<std::pair<std::string, std::uint64_t>>& sections,
                     const Registry& registry, engine::Program& program) {
  std::uint64_t record = attribute_version;  // hash of the records, and of what they are decoded with
  for (const auto& [name, hash] : sections) {
    if (name == "source" || name == "decode" || name == decided_section || name.starts_with("file of "))
      record = mix(record ^ hash);
  }
  std::uint64_t all = record;
  for (engine::EarlyAttribute& attribute : program.early.attributes) {
    std::uint64_t before = record;
    for (std::size_t i = 0; i < std::min(attribute.stages, stages.before.size()); ++i)
      before = mix(before ^ stage_hash(*stages.before[i].stage.json, registry));
    if (const auto tree = expression::parse(attribute.value.text()); tree.ok())
      attribute.made_by = mix(before ^ hash_of(*tree) ^ attribute.lookup.made_of) | 1;
    all = mix(all ^ attribute.made_by);
  }
  for (const engine::FrameAttribute& attribute : program.early.frame_attributes) {
    if (const auto tree = expression::parse(attribute.value.text()); tree.ok()) all = mix(all ^ hash_of(*tree));
    for (const ColumnId key : attribute.keys) all = mix(all ^ fnv1a(program.schema[key].name));
  }
  for (const ColumnId id : program.decoded) all = mix(all ^ fnv1a(program.schema[id].name));
  program.early.checked_by = mix(all ^ static_cast<std::uint64_t>(program.on_corrupt.policy)) | 1;
}

void bind_attributes(const std::vector<Attribute>& attributes, const Stage& stage, const BoundColumns& columns,
                     engine::EarlyWork& early, Faults& faults) {
  for (const Attribute& attribute : attributes) {
    if (names_unknown(attribute, columns.unknown)) continue;
    auto bound = bind_attribute(attribute, columns.schema);
    if (bound.ok()) {
      engine::EarlyWork alone;
      alone.attributes.push_back({.value = *bound, .name = "", .steps = columns.late.size()});
      if (const auto done = check_steps(alone, attribute, columns.late); !done.ok()) bound = done.error();
    }
    if (bound.ok()) {
      early.attributes.push_back({.value = *std::move(bound),
                                  .name = stage.plugin,
                                  .steps = columns.late.size(),
                                  .stages = columns.of_document(columns.late.size()),
                                  .lookup = attribute.lookup});
      continue;
    }
    add_attribute_fault(bound.error(), attribute, stage, faults);
  }
}

std::vector<bool> needed_steps(const std::vector<engine::PlacedStep>& late, const engine::EarlyWork& early) {
  std::vector<ColumnId> columns;
  std::vector<bool> needed(late.size());
  for (std::size_t i = late.size(); i-- > 0;) {
    for (const engine::EarlyAttribute& attribute : early.attributes) {
      if (attribute.steps <= i) continue;
      columns.insert(columns.end(), attribute.value.reads().begin(), attribute.value.reads().end());
    }
    for (const engine::FrameAttribute& attribute : early.frame_attributes) {
      if (attribute.steps > i) columns.insert(columns.end(), attribute.reads.begin(), attribute.reads.end());
    }
    needed[i] = std::ranges::any_of(late[i].makes,
                                    [&](ColumnId made) { return std::ranges::find(columns, made) != columns.end(); });
    if (needed[i]) columns.insert(columns.end(), late[i].reads.begin(), late[i].reads.end());
  }
  return needed;
}

}  // namespace forebay::plan
