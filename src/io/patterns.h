// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

namespace forebay::io {

/// Returns the result of io::expand for each pattern by itself. A pattern that takes too much work ends the list. A
/// folder that may not be read fails with Code::io, as it might have a match.
[[nodiscard]] std::vector<Result<std::vector<std::string>>> expand_each(const std::vector<std::string>& patterns,
                                                                        const std::string& folder);

/// The path that one text of a list of files names: the text has no wildcard, or a `\` before each. Empty for a
/// pattern, and for a text that ends in "@N". Nothing is asked of the file system.
[[nodiscard]] std::optional<std::string> named_path(const std::string& text, const std::string& folder);

/// Whether the text is the name of one local file as it is: it has no wildcard, `\`, "@", NUL byte or scheme, and is
/// not empty. Most lists have such names only.
[[nodiscard]] bool is_plain_name(std::string_view text);

/// The files that a list names are asked for before they are opened when there are at most this many.
inline constexpr std::size_t max_files_asked = 1000;

/// The current folder; empty when it is not known.
[[nodiscard]] std::string current_folder();

}  // namespace forebay::io
