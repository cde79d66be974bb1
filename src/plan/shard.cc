// SPDX-License-Identifier: Apache-2.0
#include "plan/shard.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "plan/rank.h"

namespace forebay::plan {
namespace {

std::optional<engine::Shard> make(std::int64_t index, std::int64_t count) {
  if (count < 1 || index < 0 || index >= count) return std::nullopt;
  return engine::Shard{.index = index, .count = count};
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<engine::Shard> parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto index = whole(text.substr(0, slash));
  const auto count = whole(text.substr(slash + 1));
  return index && count ? make(*index, *count) : std::nullopt;
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
  if (!rank.ok()) {
    fault_value(json, rank.error().message(), faults);
    return {};
  }
  return {.index = rank->index, .count = rank->count, .source = rank->source};
}

}  // namespace

engine::Shard read_shard(const Json& json, Faults& faults) {
  if (json.is(Json::Kind::null)) return {};
  if (json == Json{"auto"}) return detect(json, faults);
  const auto shard = json.is(Json::Kind::string)  ? parse(json.string())
                     : json.is(Json::Kind::array) ? from_list(json.items())
                                                  : std::nullopt;
  if (shard) return *shard;
  fault_value(json,
              fmt::format("must be [index, count] or \"index/count\" with index from 0 to count - 1, or \"auto\"; "
                          "found {}",
                          json.text()),
              faults);
  return {};
}

std::string picked_text(const engine::Shard& shard) {
  if (shard.source.empty()) return {};
  return fmt::format("shard {} of {} ({})", shard.index, shard.count, shard.source);
}

}  // namespace forebay::plan
