// SPDX-License-Identifier: Apache-2.0
#include "decoders/json/json_values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/base64.h"

namespace forebay::decoders {
namespace {

/// The number as a double; one that is too small for a double is 0, one that is too large is nothing.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty()) return std::nullopt;
  if (code == std::errc{}) return std::isfinite(value) ? std::optional{value} : std::nullopt;
  const std::size_t exponent = text.find_first_of("eE");
  const bool tiny = exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-');
  return tiny ? std::optional{0.0} : std::nullopt;
}

}  // namespace

std::optional<float> json_float(std::string_view text, bool quoted) {
  if (quoted && text == "NaN") return std::numeric_limits<float>::quiet_NaN();
  if (quoted && text == "Infinity") return std::numeric_limits<float>::infinity();
  if (quoted && text == "-Infinity") return -std::numeric_limits<float>::infinity();
  const auto value = number_of(text);
  if (!value) return std::nullopt;
  const auto narrow = static_cast<float>(*value);
  return std::isfinite(narrow) ? std::optional{narrow} : std::nullopt;
}

std::optional<std::int64_t> json_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (stop == end && code == std::errc{} && !text.empty()) return value;
  if (text.find_first_of(".eE") == std::string_view::npos) return std::nullopt;
  const auto number = number_of(text);
  if (!number || std::trunc(*number) != *number || *number < -0x1p63 || *number >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

bool append_base64(std::string_view text, std::string& out) {
  std::string standard{text};
  for (char& c : standard) c = c == '-' ? '+' : c == '_' ? '/' : c;
  if (standard.find('=') == std::string::npos) standard.append((4 - standard.size() % 4) % 4, '=');
  const auto bytes = from_base64(standard);
  if (!bytes) return false;
  out.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return true;
}

}  // namespace forebay::decoders
