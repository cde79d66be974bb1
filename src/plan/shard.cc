// SPDX-License-Identifier: Apache-2.0
#include "plan/shard.h"

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "plan/rank.h"

namespace forebay::plan {
namespace {

std::optional<engine::Shard> make(std::int64_t index, std::int64_t count) {
  if (count < 1 || index < 0 || index >= count) return std::nullopt;
  return engine::Shard{.index = index, .count = count};
}

std::optional<engine::Shard> from_list(const std::vector<Json>& items) {
  if (items.size() != 2 || !items[0].is(Json::Kind::integer) || !items[1].is(Json::Kind::integer)) return std::nullopt;
  return make(items[0].integer(), items[1].integer());
}

engine::Shard detect(const Json& json, Faults& faults) {
  const auto rank = detect_rank([](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>{value} : std::nullopt;
  });
  if (!rank.ok()) return complain(json, rank.error().message(), faults), engine::Shard{};
  return {.index = rank->index, .count = rank->count, .source = rank->source};
}

engine::Shard from_text(const Json& json, Faults& faults) {
  const auto rank = parse_shard(json.string());
  if (!rank.ok()) return complain(json, rank.error().message(), faults), engine::Shard{};
  if (!*rank) return detect(json, faults);
  return {.index = (*rank)->index, .count = (*rank)->count, .source = {}};
}

}  // namespace

engine::Shard read_shard(const Json& json, Faults& faults) {
  if (json.is(Json::Kind::null)) return {};
  if (json.is(Json::Kind::string)) return from_text(json, faults);
  if (json.is(Json::Kind::array)) {
    if (const auto shard = from_list(json.items())) return *shard;
  }
  fault_value(
      json,
      fmt::format("must be [index, count] with index from 0 to count - 1, \"index/count\" or \"auto\"; found {}",
                  json.text()),
      faults);
  return {};
}

std::string picked_text(const engine::Shard& shard) {
  if (shard.source.empty()) return {};
  return fmt::format("shard {} of {} ({})", shard.index, shard.count, shard.source);
}

}  // namespace forebay::plan
