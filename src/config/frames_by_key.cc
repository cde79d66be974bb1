// SPDX-License-Identifier: Apache-2.0
#include <forebay/windows/by_key.h>

namespace forebay {

std::optional<std::int64_t> frames_of(const FramesByKey& frames, const std::string& key) {
  if (const auto* const all = std::get_if<std::int64_t>(&frames)) return *all;
  for (const auto& [name, value] : std::get<FramesOfKeys>(frames)) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<FramesByKey> JsonCodec<FramesByKey>::read(const Json& json, std::vector<Error>& faults) {
  if (json.is(Json::Kind::object)) {
    if (auto map = JsonCodec<FramesOfKeys>::read(json, faults)) return FramesByKey{*std::move(map)};
    return std::nullopt;
  }
  if (const auto number = read_integer(json, faults)) return FramesByKey{*number};
  return std::nullopt;
}

Json JsonCodec<FramesByKey>::write(const FramesByKey& value) {
  if (const auto* const all = std::get_if<std::int64_t>(&value)) return *all;
  return JsonCodec<FramesOfKeys>::write(std::get<FramesOfKeys>(value));
}

Json JsonCodec<FramesByKey>::schema() {
  Json out = Json::object();
  out.set("anyOf", Json::array({JsonCodec<std::int64_t>::schema(), JsonCodec<FramesOfKeys>::schema()}));
  return out;
}

std::string JsonCodec<FramesByKey>::python_type() { return "int | " + JsonCodec<FramesOfKeys>::python_type(); }

void JsonCodec<FramesByKey>::add_tensors(const Json& json, std::vector<std::string>& names) {
  if (!json.is(Json::Kind::object)) return;
  for (const auto& [key, value] : json.members()) names.push_back(key);
}

}  // namespace forebay
