// SPDX-License-Identifier: Apache-2.0
#include <forebay/combine/mix.h>

#include <fmt/core.h>

#include <forebay/json_codec_composed.h>

namespace forebay {

namespace {

using Numbers = JsonCodec<std::vector<double>>;

/// Reads [pass, weights]. `before`: the pass of the entry before it; -1: this is the first one.
std::optional<MixWeights::From> read_entry(const Json& json, std::int64_t before, std::vector<Error>& faults) {
  if (!json.is(Json::Kind::array) || json.items().size() != 2)
    return fault_type(json, "a pass and the weights from it on, as in [3, [0.7, 0.3]]", faults), std::nullopt;
  const auto pass = JsonCodec<std::int64_t>::read(json.items()[0], faults);
  auto weights = Numbers::read(json.items()[1], faults);
  if (!pass || !weights) return std::nullopt;
  if (before < 0 ? *pass != 0 : *pass <= before) {
    const auto message = before < 0 ? fmt::format("the first weights are those from pass 0 on; found pass {}", *pass)
                                    : fmt::format("passes must rise; found {} after {}", *pass, before);
    return fault_value(json.items()[0], message, faults), std::nullopt;
  }
  return MixWeights::From{.pass = *pass, .weights = *std::move(weights)};
}

}  // namespace

std::optional<MixWeights> JsonCodec<MixWeights>::read(const Json& json, std::vector<Error>& faults) {
  MixWeights out;
  const bool by_pass =
      json.is(Json::Kind::array) && !json.items().empty() && json.items().front().is(Json::Kind::array);
  if (!by_pass) {
    auto weights = Numbers::read(json, faults);
    if (!weights) return std::nullopt;
    if (!weights->empty()) out.schedule.push_back({.pass = 0, .weights = *std::move(weights)});
    return out;
  }
  for (const Json& item : json.items()) {
    auto entry = read_entry(item, out.schedule.empty() ? -1 : out.schedule.back().pass, faults);
    if (!entry) return std::nullopt;
    out.schedule.push_back(*std::move(entry));
  }
  return out;
}

Json JsonCodec<MixWeights>::write(const MixWeights& value) {
  if (value.schedule.empty()) return Json::array();
  if (value.schedule.size() == 1 && value.schedule.front().pass == 0)
    return Numbers::write(value.schedule.front().weights);
  std::vector<Json> out;
  for (const auto& [pass, weights] : value.schedule) out.push_back(Json::array({Json{pass}, Numbers::write(weights)}));
  return Json::array(std::move(out));
}

Json JsonCodec<MixWeights>::schema() {
  Json entry = Json::object({{"type", "array"}});
  entry.set("prefixItems", Json::array({Json::object({{"type", "integer"}, {"minimum", 0}}), Numbers::schema()}));
  entry.set("minItems", 2);
  entry.set("maxItems", 2);
  Json schedule = Json::object({{"type", "array"}});
  schedule.set("items", std::move(entry));
  return Json::object({{"anyOf", Json::array({Numbers::schema(), std::move(schedule)})}});
}

}  // namespace forebay
