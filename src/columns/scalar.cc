// SPDX-License-Identifier: Apache-2.0
#include "columns/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "columns/cast.h"

namespace forebay::columns {

namespace {

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> out(sizeof(T));
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

Error refused(const Json& value, DType dtype) {
  return {Code::config, Detail::invalid_argument,
          fmt::format("{} cannot be a value of type {}: found {}", value.text(), to_string(dtype), value.kind_name()),
          value.place()};
}

bool integer_fits(std::int64_t value, DType dtype) {
  const bool is_unsigned = dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64;
  const auto bits = static_cast<int>(8 * size_of(dtype));
  if (is_unsigned) return value >= 0 && (bits >= 63 || value < (std::int64_t{1} << bits));
  if (bits == 64) return true;
  const std::int64_t bound = std::int64_t{1} << (bits - 1);
  return value >= -bound && value < bound;
}

}  // namespace

Result<std::vector<std::byte>> element_from(const Json& value, DType dtype) {
  if (dtype == DType::string) {
    if (value.is(Json::Kind::null)) return std::vector<std::byte>{};
    if (!value.is(Json::Kind::string)) return refused(value, dtype);
    const auto* const text = reinterpret_cast<const std::byte*>(value.string().data());
    return std::vector<std::byte>(text, text + value.string().size());
  }
  if (value.is(Json::Kind::null)) return std::vector<std::byte>(size_of(dtype));
  if (dtype == DType::boolean) {
    if (value.is(Json::Kind::boolean)) return bytes_of(value.boolean());
    return refused(value, dtype);
  }
  const bool number = value.is(Json::Kind::number);
  if (!number && !value.is(Json::Kind::integer)) return refused(value, dtype);
  std::vector<std::byte> out(size_of(dtype));
  if (is_float(dtype)) {
    cast(bytes_of(value.number()).data(), DType::float64, out.data(), dtype, 1);
    return out;
  }
  const double whole = std::round(value.number());
  if (number && (std::abs(whole - value.number()) > 1e-6 || std::abs(whole) >= 9.2e18)) return refused(value, dtype);
  const std::int64_t integer = number ? static_cast<std::int64_t>(whole) : value.integer();
  if (!integer_fits(integer, dtype)) return refused(value, dtype);
  cast(bytes_of(integer).data(), DType::int64, out.data(), dtype, 1);
  return out;
}

}  // namespace forebay::columns
