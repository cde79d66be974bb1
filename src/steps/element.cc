// SPDX-License-Identifier: Apache-2.0
#include "steps/element.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "columns/cast.h"

namespace forebay::steps {

namespace {

using Bytes = std::vector<std::byte>;

Error fault(const Json& value, DType dtype) {
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("must be a {} value; found {}", to_string(dtype), value.text().substr(0, 100)),
               value.place()};
}

template <class Number>
constexpr DType type_of = std::is_same_v<Number, double> ? DType::float64 : DType::int64;

/// The number as an element; it must be the same number afterwards, or for floats at least not infinite.
template <class Number>
Result<Bytes> numeric(const Json& json, Number value, DType dtype) {
  Bytes element(size_of(dtype));
  Number back{};
  double size = 0;
  columns::cast(reinterpret_cast<const std::byte*>(&value), type_of<Number>, element.data(), dtype, 1);
  columns::cast(element.data(), dtype, reinterpret_cast<std::byte*>(&back), type_of<Number>, 1);
  columns::cast(element.data(), dtype, reinterpret_cast<std::byte*>(&size), DType::float64, 1);
  const bool fits = is_float(dtype) ? std::isfinite(size) : back == value && (value < 0) == (size < 0);
  if (!fits) return fault(json, dtype);
  return element;
}

}  // namespace

Result<Bytes> element_from(const Json& value, DType dtype) {
  if (value.is(Json::Kind::null)) return Bytes(size_of(dtype));
  if (dtype == DType::string) {
    if (!value.is(Json::Kind::string)) return fault(value, dtype);
    const auto* const text = reinterpret_cast<const std::byte*>(value.string().data());
    return Bytes(text, text + value.string().size());
  }
  if (value.is(Json::Kind::boolean)) {
    if (dtype != DType::boolean) return fault(value, dtype);
    return Bytes(1, static_cast<std::byte>(value.boolean()));
  }
  if (value.is(Json::Kind::integer)) return numeric(value, value.integer(), dtype);
  if (value.is(Json::Kind::number)) return numeric(value, value.number(), dtype);
  return fault(value, dtype);
}

}  // namespace forebay::steps
