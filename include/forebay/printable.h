// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Text of data, shown where its bytes must do nothing.
namespace forebay {

/// The text on one line of a terminal: control bytes and bytes that are not UTF-8 become \xNN, letters that a terminal
/// acts on or that turn the direction of text \u{NNNN}. Cut after `longest` letters, which "…" says.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 80);

/// The text with escapes for what a terminal acts on: control bytes become \xNN, letters \u{NNNN}. Ends of lines stay,
/// and so do bytes that are not UTF-8.
[[nodiscard]] std::string visible(std::string_view text);

/// JSON text, or a string literal of Python, in which these letters are escapes \uNNNN.
[[nodiscard]] std::string visible_json(std::string_view json);

}  // namespace forebay
