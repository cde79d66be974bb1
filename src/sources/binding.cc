// SPDX-License-Identifier: Apache-2.0
#include "sources/binding.h"

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay::sources {

Result<Source> bound_rows(const std::string& name, const BindContext& context, bool resident, std::string_view what) {
  const auto refuse = [](Detail detail, std::string message) {
    return Error{Code::config, detail, std::move(message)}.at(Field{"bind"});
  };
  const auto found = context.bindings.find(name);
  if (found != context.bindings.end() && found->second.function())
    return refuse(Detail::invalid_argument,
                  fmt::format("{} is bound to a function, and this source takes {}", quote(name), what));
  if (found != context.bindings.end() && found->second.table())
    return refuse(
        Detail::invalid_argument,
        fmt::format("{} is bound to a table, which the source 'arrow' takes; this one takes {}", quote(name), what));
  if (found != context.bindings.end() && found->second.rows()) {
    if (found->second.rows()->resident() == resident) return rows_of(found->second.rows());
    return refuse(Detail::invalid_argument,
                  fmt::format("{} is bound to {}, and this source takes {}", quote(name),
                              resident ? "rows that come one after the other" : "rows in memory", what));
  }
  if (context.bindings.empty()) {
    return refuse(Detail::not_found, fmt::format("the program binds no object; give {} to the call that loads the "
                                                 "document: bind={{{}: …}}",
                                                 what, quote(name)));
  }
  std::vector<std::string> names;
  for (const auto& [bound, object] : context.bindings) names.push_back(bound);
  return refuse(Detail::not_found,
                fmt::format("the program binds no {}{}", quote(name), among(name, names, "it binds")));
}

}  // namespace forebay::sources
