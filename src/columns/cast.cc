// SPDX-License-Identifier: Apache-2.0
#include "columns/cast.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "columns/cast_float16.h"

namespace forebay::columns {

namespace {

/// A bool in memory: any byte except 0 is true.
struct Bool {
  std::uint8_t byte;
};

template <class T>
concept ShortFloat = std::same_as<T, Float16> || std::same_as<T, Bfloat16>;

/// A value outside the range of `Wide`, which C++ leaves undefined, becomes its smallest value.
template <class Wide, std::floating_point Float>
Wide truncated(Float value) {
  constexpr auto end = -static_cast<Float>(std::numeric_limits<Wide>::min());
  return value >= -end && value < end ? static_cast<Wide>(value) : std::numeric_limits<Wide>::min();
}

template <std::integral To, std::floating_point Float>
To to_integer(Float value) {
  if constexpr (std::same_as<To, std::uint64_t>) {
    constexpr auto half = static_cast<Float>(0x1p63);
    if (value >= half) return static_cast<To>(truncated<std::int64_t>(value - half)) ^ (To{1} << 63);
    return static_cast<To>(truncated<std::int64_t>(value));
  } else if constexpr (sizeof(To) == 8 || std::same_as<To, std::uint32_t>) {
    return static_cast<To>(truncated<std::int64_t>(value));
  } else {
    return static_cast<To>(truncated<std::int32_t>(value));
  }
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::same_as<From, Bool>) {
    return converted<To>(static_cast<std::uint8_t>(value.byte != 0));
  } else if constexpr (ShortFloat<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (std::same_as<To, Bool>) {
    return Bool{static_cast<std::uint8_t>(value != From{0})};
  } else if constexpr (std::same_as<To, Float16> && std::same_as<From, double>) {
    return Float16{value};
  } else if constexpr (ShortFloat<To>) {
    return To{static_cast<float>(value)};
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    return to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void cast_all(const std::byte* in, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof(From), sizeof(From));
    const To result = converted<To>(value);
    std::memcpy(out + i * sizeof(To), &result, sizeof(To));
  }
}

/// Whether type `To` has the value.
template <class To, class From>
bool holds(From value) {
  if constexpr (std::same_as<From, Bool> || std::same_as<To, Bool> || std::same_as<From, To>) {
    return true;
  } else if constexpr (ShortFloat<From>) {
    return holds<To>(static_cast<float>(value));
  } else if constexpr (std::integral<To> && std::integral<From>) {
    return std::in_range<To>(value);
  } else if constexpr (std::integral<To>) {
    // Both bounds are exact: a power of two each.
    constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    const From whole = std::trunc(value);
    return whole < above && whole >= static_cast<From>(std::numeric_limits<To>::min());
  } else if constexpr (ShortFloat<To>) {
    return std::isfinite(static_cast<float>(converted<To>(value))) || !std::isfinite(static_cast<double>(value));
  } else {
    return std::isfinite(static_cast<To>(value)) || !std::isfinite(static_cast<double>(value));
  }
}

template <class From, class To>
std::optional<std::size_t> first_misfit(const std::byte* in, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, in + i * sizeof(From), sizeof(From));
    if (!holds<To>(value)) return i;
  }
  return std::nullopt;
}

/// Calls `visit` with a null pointer to the type that stands for `dtype`.
template <class Visit>
void with_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::boolean:
      return visit(static_cast<Bool*>(nullptr));
    case DType::int8:
      return visit(static_cast<std::int8_t*>(nullptr));
    case DType::int16:
      return visit(static_cast<std::int16_t*>(nullptr));
    case DType::int32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case DType::int64:
      return visit(static_cast<std::int64_t*>(nullptr));
    case DType::uint8:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case DType::uint16:
      return visit(static_cast<std::uint16_t*>(nullptr));
    case DType::uint32:
      return visit(static_cast<std::uint32_t*>(nullptr));
    case DType::uint64:
      return visit(static_cast<std::uint64_t*>(nullptr));
    case DType::float16:
      return visit(static_cast<Float16*>(nullptr));
    case DType::bfloat16:
      return visit(static_cast<Bfloat16*>(nullptr));
    case DType::float32:
      return visit(static_cast<float*>(nullptr));
    case DType::float64:
      return visit(static_cast<double*>(nullptr));
    case DType::complex64:
    case DType::complex128:
    case DType::string:
      return;
  }
}

}  // namespace

void cast(const std::byte* in, DType from, std::byte* out, DType to, std::size_t count) {
  if (count == 0) return;
  if (from == to) {
    std::memmove(out, in, count * size_of(from));
    return;
  }
  with_type(from,
            [&]<class From>(From*) { with_type(to, [&]<class To>(To*) { cast_all<From, To>(in, out, count); }); });
}

std::optional<std::size_t> first_out_of_range(const std::byte* in, DType from, DType to, std::size_t count) {
  std::optional<std::size_t> found;
  if (count == 0 || from == to) return found;
  with_type(from, [&]<class From>(From*) {
    with_type(to, [&]<class To>(To*) { found = first_misfit<From, To>(in, count); });
  });
  return found;
}

}  // namespace forebay::columns
