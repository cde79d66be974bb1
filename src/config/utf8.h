// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace forebay::config {

/// Bytes of the first character of `text`; 0 when `text` is empty or does not start with well-formed UTF-8 (overlong
/// forms and surrogates are malformed).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

}  // namespace forebay::config
