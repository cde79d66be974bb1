// SPDX-License-Identifier: Apache-2.0
#include "plan/attributes.h"

#include <algorithm>

#include <fmt/core.h>

namespace forebay::plan {
namespace {

Result<expression::Expression> bind_one(const Attribute& attribute, const BoundColumns& columns) {
  FOREBAY_TRY(const expression::Tree tree, expression::parse(attribute.expression));
  FOREBAY_TRY(expression::Expression bound, expression::bind(tree, columns.schema));
  const bool condition = attribute.kind == AttributeKind::condition;
  if (bound.type() == (condition ? expression::Type::boolean : expression::Type::integer)) return bound;
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("the expression is {}, but {} is wanted", expression::to_string(bound.type()),
                           condition ? "a condition, such as label >= 0," : "an integer")};
}

/// Returns the attribute, or the fault that it needs a step which must not run before the order is decided.
Result<expression::Expression> check_steps(expression::Expression value, const Attribute& attribute,
                                           const std::vector<engine::PlacedStep>& late) {
  engine::EarlyWork alone;
  alone.attributes.push_back({.value = value, .name = "", .steps = late.size()});
  const std::vector<bool> needed = needed_steps(late, alone);
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (!needed[i]) continue;
    if (late[i].draws) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("the condition reads what '{}' ({}) makes of a random draw, which is not known when the "
                               "order is decided; read other tensors, or stand before that step",
                               late[i].name, late[i].pointer)};
    }
    if (late[i].expensive && !attribute.early) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("the condition reads the output of '{}' ({}), which would run a second time for every "
                               "record; read other tensors, or say \"early\": true",
                               late[i].name, late[i].pointer)};
    }
  }
  return value;
}

bool names_unknown(const Attribute& attribute, const UnknownTensors& unknown) {
  const auto tree = expression::parse(attribute.expression);
  return tree.ok() && unknown.contain_any(tree->names());
}

}  // namespace

void bind_attributes(const OrderStage& order, const BoundColumns& columns, engine::EarlyWork& early, Faults& faults) {
  for (const Attribute& attribute : order.ordering.attributes) {
    if (names_unknown(attribute, columns.unknown)) continue;
    auto bound = bind_one(attribute, columns);
    if (bound.ok()) bound = check_steps(*std::move(bound), attribute, columns.late);
    if (bound.ok()) {
      early.attributes.push_back(
          {.value = *std::move(bound), .name = order.stage.plugin, .steps = columns.late.size()});
      continue;
    }
    Faults found;
    keep(bound.error(), found);
    for (const Error& fault : found)
      faults.push_back(at_options(fault.at(Place{.field = attribute.option}), *order.stage.options));
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
