// SPDX-License-Identifier: Apache-2.0
#include <forebay/combine/until.h>

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay {

namespace {

constexpr std::array<std::string_view, 2> names{"first", "all"};

}  // namespace

std::optional<Until> JsonCodec<Until>::read(const Json& json, std::vector<Error>& faults) {
  Until out;
  if (json.is(Json::Kind::string)) {
    const auto choice = read_choice(json, names, faults);
    if (!choice) return std::nullopt;
    out.when = static_cast<PassEnd::When>(*choice);
    return out;
  }
  if (!json.is(Json::Kind::integer) && !json.is(Json::Kind::number))
    return fault_type(json, "\"first\", \"all\" or a number of rows", faults), std::nullopt;
  const auto rows = read_integer(json, faults);
  if (!rows) return std::nullopt;
  if (*rows < 1) return fault_value(json, fmt::format("must be at least 1 row; found {}", *rows), faults), std::nullopt;
  out.when = PassEnd::When::rows;
  out.rows = *rows;
  return out;
}

Json JsonCodec<Until>::write(const Until& value) {
  if (value.when == PassEnd::When::rows) return Json{value.rows};
  return Json{std::string{names[value.when == PassEnd::When::all ? 1 : 0]}};
}

Json JsonCodec<Until>::schema() {
  Json out = Json::object();
  out.set("anyOf", Json::array({choice_schema(names), Json::object({{"type", "integer"}, {"minimum", 1}})}));
  return out;
}

}  // namespace forebay
