// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/error.h>

/// Files as Forebay reads, writes and names them. Paths are bytes: nothing is normalised, `~` and `$VAR` mean
/// themselves.
namespace forebay {

/// The content of a regular file, or its first `max_bytes` bytes. Fails with Code::io and the path; folders, pipes,
/// sockets and devices are refused.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::int64_t max_bytes);

/// Writes a file that appears whole or not at all: it is written beside its place, brought to disk and renamed. A file
/// that is there stays until then. Fails with Code::io and the path.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view bytes);

/// The files that `patterns` name (`*`, `?`, `[a-z]`, `path@N`; relative ones in `folder`): the matches of one pattern
/// sorted bytewise, the patterns in their order. A path without wildcards stays even when there is no such file;
/// wildcards do not match the folder of the indexes, `.forebay`. Fails with Code::config for a pattern that matches
/// nothing or is not a local path, with Code::io for a folder that may not be read; the error has the faults of all
/// patterns.
[[nodiscard]] Result<std::vector<std::string>> expand_files(const std::vector<std::string>& patterns,
                                                            const std::string& folder);

}  // namespace forebay
