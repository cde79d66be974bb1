// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace forebay::stores::http {

/// The text without blanks and ends of lines at its own ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

}  // namespace forebay::stores::http
