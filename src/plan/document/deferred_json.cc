// SPDX-License-Identifier: Apache-2.0
#include "plan/document/deferred_json.h"

namespace forebay {

namespace plan {

Json any_of(std::vector<Json> schemas) {
  Json out = Json::object();
  out.set("anyOf", Json::array(std::move(schemas)));
  return out;
}

Json list_schema(Json items) {
  Json out = type_schema("array");
  out.set("items", std::move(items));
  return out;
}

Json type_schema(const char* type) {
  Json out = Json::object();
  out.set("type", type);
  return out;
}

}  // namespace plan

std::optional<plan::ListOrText> JsonCodec<plan::ListOrText>::read(const Json& json, std::vector<Error>& faults) {
  if (json.is(Json::Kind::array) || json.is(Json::Kind::string)) return plan::ListOrText{json};
  return fault_type(json, "a list or a string", faults), std::nullopt;
}

Json JsonCodec<plan::ListOrText>::schema() {
  return plan::any_of({plan::list_schema(plan::type_schema("integer")), plan::type_schema("string")});
}

}  // namespace forebay
