// SPDX-License-Identifier: Apache-2.0
// Text to value, for any text. The kernels of fields.h read most numbers, and leave the others to this.
#include "decoders/csv/values.h"

#include <charconv>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include <fast_float/fast_float.h>

namespace forebay::decoders {
namespace {

bool space(char each) { return each == ' ' || (each >= '\t' && each <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool begins_with_sign(std::string_view text) { return !text.empty() && (text[0] == '-' || text[0] == '+'); }

template <class T>
bool parse_integer(std::string_view text, std::byte* out) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (begins_with_sign(text)) return false;
  }
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return false;
  std::memcpy(out, &value, sizeof(T));
  return true;
}

/// 0x1p3 and the like, rounded by the C library.
template <class T>
bool parse_hexadecimal(std::string_view text, T& value) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy{text};
  char* end = nullptr;
  if constexpr (std::is_same_v<T, float>)
    value = strtof_l(copy.c_str(), &end, plain);
  else
    value = strtod_l(copy.c_str(), &end, plain);
  return end == copy.c_str() + copy.size();
}

template <class T>
bool parse_float(std::string_view text, std::byte* out) {
  const bool negative = text.starts_with('-');
  if (begins_with_sign(text)) text.remove_prefix(1);
  if (text.empty() || begins_with_sign(text)) return false;
  T value{};
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    if (!parse_hexadecimal(text, value)) return false;
  } else {
    // Too large and too small values are inf and 0, and no errors.
    const auto [end, code] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::invalid_argument || end != text.data() + text.size()) return false;
  }
  if (negative) value = -value;
  std::memcpy(out, &value, sizeof(T));
  return true;
}

bool same_word(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

bool parse_bool(std::string_view text, std::byte* out) {
  const bool yes = text == "1" || same_word(text, "true");
  if (!yes && text != "0" && !same_word(text, "false")) return false;
  *out = std::byte{yes};
  return true;
}

/// Takes `count` digits, whose value is at most `largest`, off the text.
bool take_digits(std::string_view& text, std::size_t count, int largest, int& value) {
  if (text.size() < count) return false;
  value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value <= largest;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

int days_in(int year, int month) {
  constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[static_cast<std::size_t>(month - 1)];
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: the days of whole 400, 100, 4 and 1 years before it, which
/// begin in March so that a leap day is the last one.
std::int64_t days_to(int year, int month, int day) {
  const int shifted = month > 2 ? year : year - 1;
  const int months = (month + 9) % 12;
  constexpr std::int64_t days_before_1970 = 719468;
  return std::int64_t{365} * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * months + 2) / 5 + day - 1 -
         days_before_1970;
}

/// The seconds of a time of day and of its offset from UTC, which end the text; `nanoseconds` after them.
bool parse_time(std::string_view text, std::int64_t& seconds, std::int64_t& nanoseconds) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!take_digits(text, 2, 23, hour) || !take(text, ':') || !take_digits(text, 2, 59, minute)) return false;
  if (take(text, ':')) {
    if (!take_digits(text, 2, 59, second)) return false;
    if (take(text, '.')) {
      std::int64_t unit = 1'000'000'000;
      bool any = false;
      for (int digit = 0; !text.empty() && text[0] >= '0' && text[0] <= '9'; any = true) {
        static_cast<void>(take_digits(text, 1, 9, digit));
        unit /= 10;
        if (unit == 0 && digit != 0) return false;
        nanoseconds += unit * digit;
      }
      if (!any) return false;
    }
  }
  seconds = (hour * 60 + minute) * 60 + second;
  if (text.empty() || same_word(text, "z")) return true;
  const int sign = text[0] == '-' ? -1 : 1;
  if (!begins_with_sign(text)) return false;
  text.remove_prefix(1);
  if (!take_digits(text, 2, 23, hour)) return false;
  minute = 0;
  static_cast<void>(take(text, ':'));
  if (!text.empty() && !take_digits(text, 2, 59, minute)) return false;
  seconds -= sign * (hour * 60 + minute) * 60;
  return text.empty();
}

template <class T>
bool parse_number(std::string_view text, std::byte* out) {
  if constexpr (std::is_floating_point_v<T>)
    return parse_float<T>(text, out);
  else
    return parse_integer<T>(text, out);
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text, TimeUnit unit) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!take_digits(text, 4, 9999, year) || !take(text, '-') || !take_digits(text, 2, 12, month) || !take(text, '-') ||
      !take_digits(text, 2, 31, day) || year < 1 || month < 1 || day < 1 || day > days_in(year, month))
    return std::nullopt;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  if (!text.empty()) {
    if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
    if (!parse_time(text, seconds, nanoseconds)) return std::nullopt;
  }
  seconds += days_to(year, month, day) * 86400;
  constexpr std::array<std::int64_t, 4> in_a_second{1, 1'000, 1'000'000, 1'000'000'000};
  const std::int64_t units = in_a_second[static_cast<std::size_t>(unit)];
  const std::int64_t nanoseconds_a_unit = 1'000'000'000 / units;
  if (seconds < 0 && nanoseconds > 0)
    ++seconds, nanoseconds -= 1'000'000'000;  // so that the product fits if the sum does
  std::int64_t value = 0;
  if (nanoseconds % nanoseconds_a_unit != 0 || __builtin_mul_overflow(seconds, units, &value) ||
      __builtin_add_overflow(value, nanoseconds / nanoseconds_a_unit, &value))
    return std::nullopt;
  return value;
}

bool parse_value(std::string_view text, const CsvType& type, std::byte* out) {
  text = trimmed(text);
  if (text.empty()) return false;
  if (type.timestamp) {
    const auto value = parse_timestamp(text, *type.timestamp);
    if (value) std::memcpy(out, &*value, sizeof(*value));
    return value.has_value();
  }
  switch (type.dtype) {
    case DType::boolean:
      return parse_bool(text, out);
    case DType::int8:
      return parse_number<std::int8_t>(text, out);
    case DType::int16:
      return parse_number<std::int16_t>(text, out);
    case DType::int32:
      return parse_number<std::int32_t>(text, out);
    case DType::int64:
      return parse_number<std::int64_t>(text, out);
    case DType::uint8:
      return parse_number<std::uint8_t>(text, out);
    case DType::uint16:
      return parse_number<std::uint16_t>(text, out);
    case DType::uint32:
      return parse_number<std::uint32_t>(text, out);
    case DType::uint64:
      return parse_number<std::uint64_t>(text, out);
    case DType::float32:
      return parse_number<float>(text, out);
    case DType::float64:
      return parse_number<double>(text, out);
    default:
      return false;
  }
}

}  // namespace forebay::decoders
