// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace forebay::config {

/// Bytes of the first character of `text`; 0 when it is empty or does not start with well-formed UTF-8 (overlong forms
/// and surrogates are not).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// 'text' in single quotes for a message: control bytes and bytes that are no UTF-8 as \xNN, cut after 80 characters.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace forebay::config
