// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace forebay::config {

/// Bytes of the first character of `text`; 0 when `text` is empty or does not start with well-formed UTF-8 (overlong
/// forms and surrogates are malformed).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Bytes of the longest beginning of `text` that is well-formed. Quick for ASCII.
[[nodiscard]] std::size_t utf8_valid_bytes(std::string_view text);
[[nodiscard]] inline bool is_utf8(std::string_view text) { return utf8_valid_bytes(text) == text.size(); }

/// Bytes of the longest beginning of `text` that a well-formed character could begin with, at least 1; `text` is not
/// empty and `utf8_length` of it is 0. Each such part becomes one U+FFFD, as the Unicode standard recommends.
[[nodiscard]] std::size_t utf8_broken_length(std::string_view text);

}  // namespace forebay::config
