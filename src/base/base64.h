// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// Bytes as base64 text (RFC 4648, with padding).
[[nodiscard]] std::string to_base64(std::span<const std::byte> bytes);
/// The bytes of such a text; nothing for any other text.
[[nodiscard]] std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace forebay
