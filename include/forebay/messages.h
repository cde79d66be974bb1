// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

/// The words of messages: what was found, and what was probably meant.
namespace forebay {

/// 'text' in single quotes. Control bytes and bytes that are not UTF-8 become \xNN; cut after 80 characters.
[[nodiscard]] std::string quote(std::string_view text);

/// The candidate nearest to `name` by edit distance (case ignored), or empty when none is near.
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// "; did you mean 'x'?", or "" when no candidate is near.
[[nodiscard]] std::string hint(std::string_view name, std::span<const std::string> candidates);

/// The same with the candidates: "; did you mean 'x'? <words>: x, y, z". Lists at most 30.
[[nodiscard]] std::string among(std::string_view name, std::span<const std::string> candidates, std::string_view words);

/// A key as one token of a JSON pointer (RFC 6901): ~ and / are escaped.
[[nodiscard]] std::string pointer_token(std::string_view key);

}  // namespace forebay
