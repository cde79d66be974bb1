// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoder_choice.h>
#include <forebay/field_types.h>

#include <array>

namespace forebay {

std::string_view to_string(FieldKind kind) {
  constexpr std::array<std::string_view, 15> names{
      "value", "paths", "data_file", "tensor", "new_tensor", "expression", "sizes_or_tensor", "dtype_or_tensor",
      "dtype", "sizes", "bytes",     "shard",  "binding",    "branches",   "decoder"};
  return names[static_cast<std::size_t>(kind)];
}

SizesOrTensor::SizesOrTensor(std::initializer_list<std::int64_t> sizes)
    : json_{JsonCodec<std::vector<std::int64_t>>::write(sizes)} {}

using Strings = JsonCodec<std::vector<std::string>>;

std::optional<Paths> JsonCodec<Paths>::read(const Json& json, std::vector<Error>& faults) {
  if (auto paths = Strings::read(json, faults)) return Paths{*std::move(paths)};
  return std::nullopt;
}

Json JsonCodec<Paths>::write(const Paths& value) { return Strings::write(value); }

Json JsonCodec<Paths>::schema() { return Strings::schema(); }

Json JsonCodec<SizesOrTensor>::schema() {
  Json any = Json::object();
  any.set("anyOf", Json::array({JsonCodec<std::vector<std::int64_t>>::schema(), JsonCodec<std::string>::schema()}));
  return any;
}

std::optional<DecoderChoice> JsonCodec<DecoderChoice>::read(const Json& json, std::vector<Error>& faults) {
  if (!json.is(Json::Kind::object) || json.members().size() != 1) {
    fault_type(json, "one decoder with its options, like {\"record\": {}}", faults);
    return std::nullopt;
  }
  const auto& [name, options] = json.members().front();
  if (!options.is(Json::Kind::object)) return fault_type(options, "an object of options", faults), std::nullopt;
  return DecoderChoice{.name = name, .options = options};
}

Json JsonCodec<DecoderChoice>::write(const DecoderChoice& value) {
  Json out = Json::object();
  out.set(value.name, value.options);
  return out;
}

Json JsonCodec<DecoderChoice>::schema() {
  Json out = Json::object();
  out.set("type", "object");
  out.set("minProperties", 1);
  out.set("maxProperties", 1);
  return out;
}

}  // namespace forebay
