// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <fmt/core.h>

#include "columns/scalar.h"
#include "decoders/feature_plan.h"

namespace forebay::decoders {
namespace {

/// Elements of a value or of nested lists, in order. Documents are at most 64 deep, which bounds the recursion.
void flatten(const Json& json, std::vector<const Json*>& out) {
  if (!json.is(Json::Kind::array)) return out.push_back(&json);
  for (const Json& item : json.items()) flatten(item, out);
}

}  // namespace

Result<void> read_default(const Json& json, std::int64_t count, Output& output) {
  const auto fault = [](std::string message) {
    return Error{Code::config, Detail::invalid_argument, std::move(message)};
  };
  std::vector<const Json*> items;
  flatten(json, items);
  if (static_cast<std::int64_t>(items.size()) != count) {
    return fault(fmt::format("default has {} values, but shape {} takes {}", items.size(), output.shape.text(), count));
  }
  output.has_default = true;
  const std::size_t size = size_of(output.dtype);
  output.default_bytes.resize(items.size() * size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto element = columns::element_from(*items[i], output.dtype);
    if (items[i]->is(Json::Kind::null) || !element.ok()) {
      return fault(
          fmt::format("default must have values of type {}; found {}", to_string(output.dtype), items[i]->text()));
    }
    const auto* const text = reinterpret_cast<const char*>(element->data());
    if (output.dtype == DType::string) output.default_strings.emplace_back(text, element->size());
    if (output.dtype != DType::string) std::memcpy(output.default_bytes.data() + i * size, text, size);
  }
  return {};
}

}  // namespace forebay::decoders
