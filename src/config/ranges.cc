// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <forebay/describe.h>

namespace forebay {

namespace {

bool has_min(const Range& range) { return range.min != Range{}.min; }
bool has_max(const Range& range) { return range.max != Range{}.max; }

std::string allowed(const Range& range) {
  if (has_min(range) && has_max(range)) return fmt::format("must be from {} to {}", range.min, range.max);
  return has_min(range) ? fmt::format("must be at least {}", range.min) : fmt::format("must be at most {}", range.max);
}

void refuse(std::string_view name, const Range& range, const std::string& found, const Json& json,
            std::vector<Error>& faults) {
  // For an item of a list the pointer ends in the index.
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
  if (value >= range.min && value <= range.max) return true;
  refuse(name, range, fmt::format("{}", value), json, faults);
  return false;
}

bool in_range(double value, const Range& range, std::string_view name, const Json& json, std::vector<Error>& faults) {
  const bool low = has_min(range) && value < static_cast<double>(range.min);
  const bool high = has_max(range) && value > static_cast<double>(range.max);
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
  if (has_min(range)) schema.set("minimum", range.min);
  if (has_max(range)) schema.set("maximum", range.max);
  return schema;
}

}  // namespace forebay
