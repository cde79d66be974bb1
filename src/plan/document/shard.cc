// SPDX-License-Identifier: Apache-2.0
#include "plan/document/shard.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <forebay/batch.h>
#include <forebay/describe.h>
#include <forebay/plan.h>

#include "engine/order/shards/batch_counts.h"
#include "engine/program/plan_access.h"
#include "io/paths.h"
#include "launch/rank.h"

namespace forebay {
namespace plan {

/// The long form of a shard.
struct ShardObject {
  Json index;
  std::optional<std::int64_t> count;
  ShardBy by = ShardBy::row;
  std::int64_t replicas = 1;
};

}  // namespace plan

template <>
struct FieldsOf<plan::ShardObject> {
  static const Fields<plan::ShardObject>& get() {
    using plan::ShardObject;
    static const Fields<ShardObject> fields =
        Fields<ShardObject>{}
            .required("index", &ShardObject::index, "Which shard, from 0 on, or \"auto\": as the launcher says.")
            .field("count", &ShardObject::count, "How many shards there are; left out with \"auto\".", {.min = 1})
            .field("by", &ShardObject::by,
                   "row: rows of every batch; file, element: every count-th file or element of a pass, in batches of "
                   "size / "
                   "count rows; batch: every count-th batch.")
            .field(
                "replicas", &ShardObject::replicas,
                "With \"auto\": so many neighbouring ranks take the same shard, as those of one model that is divided "
                "among them.",
                {.min = 1});
    return fields;
  }
};

namespace plan {
namespace {

std::optional<Shard> make(std::int64_t index, std::int64_t count) {
  if (count < 1 || index < 0 || index >= count) return std::nullopt;
  return Shard{.index = index, .count = count};
}

std::optional<Shard> from_list(const std::vector<Json>& items) {
  if (items.size() != 2 || !items[0].is(Json::Kind::integer) || !items[1].is(Json::Kind::integer)) return std::nullopt;
  return make(items[0].integer(), items[1].integer());
}

Shard detect(const Json& json, Faults& faults) {
  const auto rank = launch::detect_rank([](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>{value} : std::nullopt;
  });
  if (!rank.ok()) return complain(json, rank.error().message(), faults), Shard{};
  return {
      .index = rank->index, .count = rank->count, .source = rank->source, .rank = rank->index, .ranks = rank->count};
}

Shard from_text(const Json& json, Faults& faults) {
  const auto rank = launch::parse_shard(json.string());
  if (!rank.ok()) return complain(json, rank.error().message(), faults), Shard{};
  if (!*rank) return detect(json, faults);
  return {.index = (*rank)->index, .count = (*rank)->count};
}

/// Gives the same shard to each `replicas` neighbouring ranks. A fault: the ranks do not divide.
void share_among(std::int64_t replicas, const Json& json, Shard& shard, Faults& faults) {
  if (shard.ranks % replicas != 0) {
    complain(json, fmt::format("{} ranks cannot be divided into groups of {} 'replicas'", shard.ranks, replicas),
             faults);
    return;
  }
  shard.index = shard.rank / replicas;
  shard.count = shard.ranks / replicas;
}

Shard from_object(const Json& json, Faults& faults) {
  const auto object = JsonCodec<ShardObject>::read(json, faults);
  if (!object) return {};
  Shard out;
  if (object->index == Json{"auto"} && !object->count) {
    out = detect(json, faults);
    share_among(object->replicas, json, out, faults);
  } else {
    const auto named = object->index.is(Json::Kind::integer) && object->count && object->replicas == 1
                           ? make(object->index.integer(), *object->count)
                           : std::nullopt;
    if (!named) {
      complain(json,
               fmt::format("'index' must be from 0 to 'count' - 1, or \"auto\" without a count and perhaps with "
                           "'replicas'; found {}",
                           json.text()),
               faults);
      return {};
    }
    out = *named;
  }
  out.by = object->by;
  if (out.by == ShardBy::batch) {
    out.batch_index = std::exchange(out.index, 0);
    out.batch_count = std::exchange(out.count, 1);
    out.by = ShardBy::row;
  }
  return out;
}

/// Whether a list is one of shards, and not an index and a count.
bool lists_shards(const std::vector<Json>& items) {
  return std::ranges::any_of(items, [](const Json& item) { return item.is(Json::Kind::object); });
}

bool by_batch(const Json& shard) {
  const Json* const by = shard.is(Json::Kind::object) ? shard.find("by") : nullptr;
  return by != nullptr && *by == Json{"batch"};
}

/// One shard by batch and one that is not, in any order: the former divides the batches of the latter.
Shard from_shards(const Json& json, Faults& faults) {
  const std::vector<Json>& items = json.items();
  const auto batches = static_cast<std::size_t>(std::ranges::count_if(items, by_batch));
  if (items.size() != 2 || batches != 1) {
    fault_value(json,
                fmt::format("a list of shards has one by batch and one by row, file or element; found {}", json.text()),
                faults);
    return {};
  }
  const bool first = by_batch(items.front());
  Shard out = read_shard(items[first ? 1 : 0], faults);
  const Shard batch = read_shard(items[first ? 0 : 1], faults);
  out.batch_index = batch.batch_index;
  out.batch_count = batch.batch_count;
  if (out.source.empty() && !batch.source.empty()) {
    out.source = batch.source;
    out.rank = batch.rank;
    out.ranks = batch.ranks;
  }
  return out;
}

}  // namespace

Shard read_shard(const Json& json, Faults& faults) {
  if (json.is(Json::Kind::null)) return {};
  if (json.is(Json::Kind::string)) return from_text(json, faults);
  if (json.is(Json::Kind::object)) return from_object(json, faults);
  if (json.is(Json::Kind::array)) {
    if (lists_shards(json.items())) return from_shards(json, faults);
    if (const auto shard = from_list(json.items())) return *shard;
  }
  fault_value(
      json,
      fmt::format("must be [index, count] with index from 0 to count - 1, \"index/count\", \"auto\" or "
                  "{{\"index\": …, \"count\": …, \"by\": …}}, or a list of one of these and one by batch; found {}",
                  json.text()),
      faults);
  return {};
}

}  // namespace plan

namespace plan {

std::string words_of(const Shard& shard) {
  std::string out;
  if (shard.count > 1 || shard.batch_count == 1) {
    const std::string by = shard.by == ShardBy::row
                               ? ""
                               : fmt::format(" by {}", EnumNames<ShardBy>::names[static_cast<std::size_t>(shard.by)]);
    out = fmt::format("shard {} of {}{}", shard.index, shard.count, by);
  }
  if (shard.batch_count == 1) return out;
  return fmt::format("{}{}batches {}, {}, …", out, out.empty() ? "" : ", ", shard.batch_index,
                     shard.batch_index + shard.batch_count);
}

}  // namespace plan

Result<Shard> parse_shard(const Json& value) {
  plan::Faults faults;
  Shard out = plan::read_shard(value, faults);
  if (!faults.empty()) return Error::all(std::move(faults));
  return out;
}

namespace {
constexpr std::int64_t shown_keys = 3;
}  // namespace

std::string shard_text(const Plan& plan, const Shard& shard, const Batch* first) {
  if (shard.source.empty()) return {};
  std::string out = fmt::format("rank {} of {} ({}): {}", shard.rank, shard.ranks, shard.source, plan::words_of(shard));
  if (const auto batches = engine::batches_by_index(engine::program_of(plan), shard)) {
    out += fmt::format(", {} batches{}", *batches, engine::program_of(plan).epochs ? "" : " an epoch");
  }
  const std::int64_t rows = first == nullptr ? 0 : std::min(first->valid_rows(), shown_keys);
  for (std::int64_t row = 0; row < rows; ++row)
    out += fmt::format("{}{}", row == 0 ? ", first keys " : ", ", io::base_name(first->key(row)));
  return out;
}

}  // namespace forebay
