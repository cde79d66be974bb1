// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/functions.h"

#include <fmt/core.h>

#include <forebay/messages.h>

#include "plan/document/faults.h"

namespace forebay::plan {

namespace {

/// Why no function of that name can be asked.
std::string no_function(const std::string& name, const Bindings& bindings) {
  if (bindings.find(name) != bindings.end())
    return fmt::format("{} is bound to rows, and a function is needed here", quote(name));
  std::vector<std::string> names;
  for (const auto& [bound, object] : bindings) {
    if (object.function()) names.push_back(bound);
  }
  if (!names.empty())
    return fmt::format("the program binds no function {}{}", quote(name), among(name, names, "it binds"));
  return fmt::format("the program binds no function {}; give it to the call that loads the document: bind={{{}: …}}",
                     quote(name), quote(name));
}

}  // namespace

void bind_function(std::optional<AskedFunction>& asked, const Stage& stage, const BindContext& context,
                   Faults& faults) {
  if (!asked) return;
  const auto found = context.bindings.find(asked->name);
  if (found != context.bindings.end() && found->second.function()) {
    asked->function = found->second.function();
    return;
  }
  const Json* at = stage.options;
  for (const std::string& key : asked->option) {
    if (const Json* inner = at->find(key)) at = inner;
  }
  complain(*at, no_function(asked->name, context.bindings), faults);
}

void bind_functions(Stages& stages, const BindContext& context, Faults& faults) {
  const auto bind = [&](OrderStage& order) { bind_function(order.ordering.asks, order.stage, context, faults); };
  for (auto* const list : {&stages.file_orders, &stages.selecting, &stages.record_orders, &stages.batch_orders}) {
    for (OrderStage& order : *list) bind(order);
  }
  if (stages.interleave) bind(*stages.interleave);
}

}  // namespace forebay::plan
