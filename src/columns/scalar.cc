// SPDX-License-Identifier: Apache-2.0
#include "columns/scalar.h"

#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "columns/cast.h"

namespace forebay::columns {

namespace {

using Bytes = std::vector<std::byte>;

Error refused(const Json& value, DType dtype) {
  return {Code::config, Detail::invalid_argument,
          fmt::format("must be a value of type {}; found {}", to_string(dtype), value.text().substr(0, 100)),
          value.place()};
}

template <class From>
void convert(From value, DType from, Bytes& out, DType to) {
  cast(reinterpret_cast<const std::byte*>(&value), from, out.data(), to, 1);
}

template <class To>
To read_back(const Bytes& element, DType from, DType to) {
  To out{};
  cast(element.data(), from, reinterpret_cast<std::byte*>(&out), to, 1);
  return out;
}

/// A finite number that is not finite in its type, or not the same integer there, does not fit.
Result<Bytes> number_from(const Json& json, DType dtype) {
  Bytes element(size_of(dtype));
  if (is_float(dtype)) {
    const double real = *real_from(json);
    convert(real, DType::float64, element, dtype);
    const bool fits = std::isfinite(read_back<double>(element, dtype, DType::float64));
    if (!fits && std::isfinite(real)) return refused(json, dtype);
    return element;
  }
  std::int64_t value = json.integer();
  if (json.is(Json::Kind::number)) {
    const double nearest = std::nearbyint(json.number());
    if (!(std::abs(nearest - json.number()) <= 1e-6) || std::abs(nearest) > 0x1p62) return refused(json, dtype);
    value = static_cast<std::int64_t>(nearest);
  }
  convert(value, DType::int64, element, dtype);
  const bool same = read_back<std::int64_t>(element, dtype, DType::int64) == value;
  const bool same_sign = (read_back<double>(element, dtype, DType::float64) < 0) == (value < 0);
  if (!same || !same_sign) return refused(json, dtype);
  return element;
}

}  // namespace

std::optional<double> real_from(const Json& value) {
  if (value.is(Json::Kind::integer) || value.is(Json::Kind::number)) return value.number();
  if (!value.is(Json::Kind::string)) return std::nullopt;
  if (value.string() == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value.string() == "inf") return std::numeric_limits<double>::infinity();
  if (value.string() == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Result<std::vector<std::byte>> element_from(const Json& value, DType dtype) {
  if (value.is(Json::Kind::null)) return Bytes(size_of(dtype));
  if (dtype == DType::string) {
    if (!value.is(Json::Kind::string)) return refused(value, dtype);
    const auto* const text = reinterpret_cast<const std::byte*>(value.string().data());
    return Bytes(text, text + value.string().size());
  }
  if (value.is(Json::Kind::boolean) && dtype == DType::boolean)
    return Bytes(1, static_cast<std::byte>(value.boolean()));
  const bool number = value.is(Json::Kind::integer) || value.is(Json::Kind::number);
  if (number || (is_float(dtype) && real_from(value))) return number_from(value, dtype);
  return refused(value, dtype);
}

}  // namespace forebay::columns
