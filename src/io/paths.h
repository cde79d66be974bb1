// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

/// Names of files. Paths are bytes: nothing is normalised, `~` and `$VAR` mean themselves.
namespace forebay::io {

/// Ending of the index that is kept beside a record file (docs/formats/index.md).
inline constexpr std::string_view index_suffix = ".fbindex";

[[nodiscard]] std::string parent(const std::string& path);     ///< "a/b" → "a", "/b" → "/", "b" → "".
[[nodiscard]] std::string base_name(const std::string& path);  ///< "a/b" → "b".
/// `path` when it is absolute, else `folder/path`; an empty folder is the current one.
[[nodiscard]] std::string resolve(const std::string& path, const std::string& folder);

/// Whether the name matches the pattern of one path segment: `*`, `?`, `[a-z]`, `[!a]`, `\` takes the next as it is.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

/// The files that `patterns` name, relative ones in `folder`: matches of one pattern sorted bytewise, patterns in their
/// order, duplicates kept. A path without wildcards is kept even when there is no such file; `path@N` names the
/// shards path-00000-of-0000N, which must all be there. Wildcards pass over indexes, which lie beside the data. Fails
/// with Code::config for a pattern that matches nothing, that costs too much to follow, or that is not a local path,
/// with Code::io for a folder that may not be read; the fault of every pattern is told.
[[nodiscard]] Result<std::vector<std::string>> expand(const std::vector<std::string>& patterns,
                                                      const std::string& folder);

/// The paths in a list file, one a line, stripped, blank lines skipped, order and duplicates kept; relative ones are
/// relative to the list's folder. No path at all is an error.
[[nodiscard]] Result<std::vector<std::string>> read_list(const std::string& path);

/// Every file below `folder` (links to it resolved) whose name ends in `suffix`, in any case, by full path, sorted
/// bytewise. Links to folders are not followed. No file at all is an error, and so is a folder that cannot be read.
[[nodiscard]] Result<std::vector<std::string>> find_files(const std::string& folder, std::string_view suffix);

}  // namespace forebay::io
