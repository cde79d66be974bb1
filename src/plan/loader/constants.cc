// SPDX-License-Identifier: Apache-2.0
#include "plan/loader/constants.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "plan/document/names.h"

#include <forebay/messages.h>

namespace forebay::plan {
namespace {

using Names = std::vector<std::string>;

std::string_view strip(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Parses sizes in the text forms "[2,3]", "(2,3)" or "2,3".
std::optional<Shape> parse_sizes(std::string_view text) {
  text = strip(text);
  const bool enclosed =
      (text.starts_with('[') && text.ends_with(']')) || (text.starts_with('(') && text.ends_with(')'));
  if (enclosed && text.size() >= 2) text = strip(text.substr(1, text.size() - 2));
  if (enclosed && text.empty()) return Shape{};
  std::vector<std::int64_t> dims;
  while (dims.size() <= 16) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = strip(text.substr(0, comma));
    std::int64_t dim = 0;
    const auto read = std::from_chars(item.data(), item.data() + item.size(), dim);
    if (read.ec != std::errc{} || read.ptr != item.data() + item.size() || dim < 0) return std::nullopt;
    dims.push_back(dim);
    if (comma == text.size()) return Shape{std::move(dims)};
    text.remove_prefix(comma + 1);
  }
  return std::nullopt;
}

std::optional<std::variant<Shape, std::string>> read_shape(const Json& json, const Names& primaries, Faults& faults) {
  using Out = std::variant<Shape, std::string>;
  if (json.is(Json::Kind::array)) {
    const auto shape = JsonCodec<Shape>::read(json, faults);
    if (!shape) return std::nullopt;
    if (shape->known()) return Out{*shape};
    fault_value(json, fmt::format("must have sizes of 0 or more only, found {}", json.text()), faults);
    return std::nullopt;
  }
  if (contains(primaries, json.string())) return Out{json.string()};
  if (const auto shape = parse_sizes(json.string())) return Out{*shape};
  fault_value(json,
              fmt::format("must be sizes, as [2,3] or \"[2,3]\", or the name of a primary feature; found {}{}",
                          quote(json.string()), hint(json.string(), primaries)),
              faults);
  return std::nullopt;
}

std::optional<Constant> read_args(const SecondaryFeature& feature, const Json& item, const Names& primaries,
                                  Faults& faults) {
  const Json none = Json{Json::object()}.mark(item.place());
  const Json& json = item.find("args") != nullptr ? *item.find("args") : none;
  Constant out;
  if (feature.type == SecondaryType::ones) {
    const auto args = JsonCodec<OnesArgs>::read(json, faults);
    if (!args) return std::nullopt;
    out.dtype = args->dtype;
    out.value = Json{1};
  } else {
    const auto args = JsonCodec<ConstArgs>::read(json, faults);
    if (!args) return std::nullopt;
    out.dtype = args->dtype;
    out.value = args->value;
  }
  auto shape = read_shape(*json.find("shape"), primaries, faults);
  if (!contains(primaries, out.dtype)) {
    Faults wrong;
    const Json& dtype = *json.find("dtype");
    if (!JsonCodec<DType>::read(dtype, wrong)) {
      complain(dtype,
               fmt::format("{}; the name of a primary feature is allowed too{}", wrong.front().message(),
                           hint(out.dtype, primaries)),
               faults);
      return std::nullopt;
    }
  }
  if (!shape) return std::nullopt;
  out.shape = *std::move(shape);
  return out;
}

}  // namespace

void check_constant(const SecondaryFeature& feature, const Json& json, const Names& primaries, Faults& faults) {
  static_cast<void>(read_args(feature, json, primaries, faults));
}

Constant read_constant(const SecondaryFeature& feature, const Json& json, const Names& primaries) {
  Faults none;
  return read_args(feature, json, primaries, none).value_or(Constant{});
}

}  // namespace forebay::plan
