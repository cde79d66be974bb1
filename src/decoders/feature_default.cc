// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "columns/cast.h"
#include "decoders/feature_plan.h"

namespace forebay::decoders {
namespace {

/// Elements of a value or of nested lists, in order. Documents are at most 64 deep, which bounds the recursion.
void flatten(const Json& json, std::vector<const Json*>& out) {
  if (!json.is(Json::Kind::array)) return out.push_back(&json);
  for (const Json& item : json.items()) flatten(item, out);
}

/// One number in the final type; false when it does not fit there.
bool convert(const Json& json, DType to, std::byte* out) {
  if (json.is(Json::Kind::boolean)) {
    if (to != DType::boolean) return false;
    *out = static_cast<std::byte>(json.boolean());
    return true;
  }
  if (is_float(to)) {
    if (!json.is(Json::Kind::integer) && !json.is(Json::Kind::number)) return false;
    const double value = json.number();
    columns::cast(reinterpret_cast<const std::byte*>(&value), DType::float64, out, to, 1);
    return true;
  }
  std::int64_t value = json.integer();
  if (json.is(Json::Kind::number)) {
    const double nearest = std::nearbyint(json.number());
    if (std::abs(nearest - json.number()) > 1e-6 || std::abs(nearest) > 0x1p62) return false;
    value = static_cast<std::int64_t>(nearest);
  } else if (!json.is(Json::Kind::integer)) {
    return false;
  }
  if (to == DType::uint64 && value < 0) return false;
  columns::cast(reinterpret_cast<const std::byte*>(&value), DType::int64, out, to, 1);
  std::int64_t back = 0;
  columns::cast(out, to, reinterpret_cast<std::byte*>(&back), DType::int64, 1);
  return to == DType::boolean || back == value;
}

}  // namespace

bool read_default(const Json& json, const ExampleFeature& feature, std::int64_t count, Output& output,
                  std::vector<Error>& faults) {
  Place place = json.place().pointer.empty() ? feature.place : json.place();
  place.feature = output.name;
  const auto fault = [&](std::string message) {
    faults.emplace_back(Code::config, Detail::invalid_argument, fmt::format("default {}", message), place);
    return false;
  };
  std::vector<const Json*> items;
  flatten(json, items);
  if (static_cast<std::int64_t>(items.size()) != count) {
    return fault(fmt::format("has {} values, but shape {} takes {}", items.size(), output.shape.text(), count));
  }
  output.has_default = true;
  const std::size_t size = size_of(output.dtype);
  output.default_bytes.resize(items.size() * size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (output.dtype == DType::string) {
      if (!items[i]->is(Json::Kind::string)) return fault(fmt::format("must be a string, found {}", items[i]->text()));
      output.default_strings.push_back(items[i]->string());
    } else if (!convert(*items[i], output.dtype, output.default_bytes.data() + i * size)) {
      return fault(fmt::format("does not fit {}: found {}", to_string(output.dtype), items[i]->text()));
    }
  }
  return true;
}

}  // namespace forebay::decoders
