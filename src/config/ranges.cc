// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <forebay/describe.h>

namespace forebay {

namespace {

bool has_least(const Range& range) { return range.least != Range{}.least; }
bool has_most(const Range& range) { return range.most != Range{}.most; }

std::string allowed(const Range& range) {
  if (has_least(range) && has_most(range)) return fmt::format("must be from {} to {}", range.least, range.most);
  return has_least(range) ? fmt::format("must be at least {}", range.least)
                          : fmt::format("must be at most {}", range.most);
}

void refuse(std::string_view name, const Range& range, const std::string& found, const Json& json,
            std::vector<Error>& faults) {
  // In a list it is an item that is out of range; its pointer ends in the index.
  const std::string_view pointer = json.place().pointer;
  if (!pointer.empty() && !pointer.ends_with("/" + std::string{name})) {
    fault_value(json, fmt::format("{}, found {}", allowed(range), found), faults);
  } else {
    faults.emplace_back(Code::config, Detail::invalid_argument,
                        fmt::format("'{}' {}, found {}", name, allowed(range), found), json.place());
  }
}

}  // namespace

bool in_range(std::int64_t value, const Range& range, std::string_view name, const Json& json,
              std::vector<Error>& faults) {
  if (value >= range.least && value <= range.most) return true;
  refuse(name, range, fmt::format("{}", value), json, faults);
  return false;
}

bool in_range(double value, const Range& range, std::string_view name, const Json& json, std::vector<Error>& faults) {
  const bool low = has_least(range) && value < static_cast<double>(range.least);
  const bool high = has_most(range) && value > static_cast<double>(range.most);
  if (!low && !high) return true;
  refuse(name, range, fmt::format("{}", value), json, faults);
  return false;
}

Json with_range(Json schema, const Range& range) {
  if (Json* items = const_cast<Json*>(schema.find("items"))) {
    *items = with_range(std::move(*items), range);
  } else if (Json* any = const_cast<Json*>(schema.find("anyOf"))) {
    for (Json& one : any->items()) one = with_range(std::move(one), range);
  }
  const Json* type = schema.find("type");
  if (type == nullptr || !(*type == Json{"integer"} || *type == Json{"number"})) return schema;
  if (has_least(range)) schema.set("minimum", range.least);
  if (has_most(range)) schema.set("maximum", range.most);
  return schema;
}

}  // namespace forebay
