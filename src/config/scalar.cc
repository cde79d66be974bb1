// SPDX-License-Identifier: Apache-2.0
#include <forebay/json_codec_composed.h>
#include <forebay/scalar.h>

namespace forebay {
namespace {

struct Writer {
  Json operator()(std::monostate) const { return {}; }
  template <class T>
  Json operator()(const T& value) const {
    return Json{value};
  }
  template <class T>
  Json operator()(const std::vector<T>& values) const {
    std::vector<Json> items;
    items.reserve(values.size());
    for (const T& value : values) items.emplace_back(value);
    return Json::array(std::move(items));
  }
};

}  // namespace

std::optional<Scalar> JsonCodec<Scalar>::read(const Json& json, std::vector<Error>& faults) {
  switch (json.kind()) {
    case Json::Kind::null:
      return Scalar{};
    case Json::Kind::boolean:
      return json.boolean();
    case Json::Kind::integer:
      return json.integer();
    case Json::Kind::number:
      return json.number();
    case Json::Kind::string:
      return json.string();
    case Json::Kind::array:
    case Json::Kind::object:
      break;
  }
  fault_type(json, "a number, a string, a boolean or null", faults);
  return std::nullopt;
}

Json JsonCodec<Scalar>::write(const Scalar& value) { return std::visit(Writer{}, value); }

Json JsonCodec<Scalar>::schema() { return Json::object(); }

std::string JsonCodec<Scalar>::python_type() { return "bool | int | float | str | None"; }

Json to_json(const DefaultValue& value) { return std::visit(Writer{}, value); }

}  // namespace forebay
