// SPDX-License-Identifier: Apache-2.0
#include "plan/attributes.h"

#include <algorithm>

#include <fmt/core.h>

namespace forebay::plan {

Result<expression::Expression> bind_attribute(const Attribute& attribute, const Schema& schema) {
  FOREBAY_TRY(const expression::Tree tree, expression::parse(attribute.expression));
  FOREBAY_TRY(expression::Expression bound, expression::bind(tree, schema));
  const bool condition = attribute.kind == AttributeKind::condition;
  if (bound.type() == (condition ? expression::Type::boolean : expression::Type::integer)) return bound;
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("the expression is {}, but {} is wanted", expression::to_string(bound.type()),
                           condition ? "a condition, such as label >= 0," : "an integer")};
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

void bind_attributes(const std::vector<Attribute>& attributes, const Stage& stage, const BoundColumns& columns,
                     engine::EarlyWork& early, Faults& faults) {
  for (const Attribute& attribute : attributes) {
    if (names_unknown(attribute, columns.unknown)) continue;
    auto bound = bind_attribute(attribute, columns.schema);
    if (bound.ok()) {
      early.attributes.push_back({.value = *std::move(bound), .name = stage.plugin, .steps = columns.late.size()});
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
    needed[i] = std::ranges::any_of(late[i].makes,
                                    [&](ColumnId made) { return std::ranges::find(columns, made) != columns.end(); });
    if (needed[i]) columns.insert(columns.end(), late[i].reads.begin(), late[i].reads.end());
  }
  return needed;
}

}  // namespace forebay::plan
