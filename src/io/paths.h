// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

/// Names of files. Paths are bytes: nothing is normalised, `~` and `$VAR` mean themselves.
namespace forebay::io {

/// The folder beside the data that has their indexes (docs/formats/index.md). Nothing in it ever matches a pattern.
inline constexpr std::string_view store_folder = ".forebay";

[[nodiscard]] std::string parent(const std::string& path);     ///< "a/b" → "a", "/b" → "/", "b" → "".
[[nodiscard]] std::string base_name(const std::string& path);  ///< "a/b" → "b".
/// `path` when it is absolute, else `folder/path`; an empty folder is the current one.
[[nodiscard]] std::string resolve(const std::string& path, const std::string& folder);

/// Whether the name matches the pattern of one path segment: `*`, `?`, `[a-z]`, `[!a]`, `\` takes the next as it is.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

/// Returns the files that `patterns` name. Relative patterns are relative to `folder`.
///
/// * The patterns stay in their order, the matches of each are sorted bytewise, and duplicates stay.
/// * A path without wildcards is returned even when the file does not exist, and one with wildcards when it is the name
/// of a file.
/// * `path@N` names the shards path-00000-of-0000N. They must all exist; in a list of more than 1,000 files they are
/// not
///   asked for (patterns.h).
/// * Wildcards do not match the folder of the indexes, `.forebay`.
///
/// Fails with Code::config for a pattern that matches nothing, that takes too much work, or that is not a local path,
/// and with Code::io for a folder that may not be read. The error has the faults of all patterns.
[[nodiscard]] Result<std::vector<std::string>> expand(const std::vector<std::string>& patterns,
                                                      const std::string& folder);

/// Returns the paths in a list file, one a line, in their order, with duplicates. Lines are stripped, and blank lines
/// are skipped. Relative paths are relative to the folder of the list. A list without paths is an error.
[[nodiscard]] Result<std::vector<std::string>> read_list(const std::string& path);

/// Returns the full path of every file below `folder` whose name ends in `suffix`, in any case, sorted bytewise. Links
/// in the path of `folder` are resolved; links to folders below it are not followed. Fails when there is no such file,
/// and when a folder cannot be read.
[[nodiscard]] Result<std::vector<std::string>> find_files(const std::string& folder, std::string_view suffix);

}  // namespace forebay::io
