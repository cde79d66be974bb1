// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/error.h>

namespace forebay::io {

/// Returns the result of io::expand for each pattern by itself. A pattern that takes too much work ends the list. A
/// folder that may not be read fails with Code::io, as it might have a match.
[[nodiscard]] std::vector<Result<std::vector<std::string>>> expand_each(const std::vector<std::string>& patterns,
                                                                        const std::string& folder);

/// Returns the absolute path; `path` itself when the current folder is not known.
[[nodiscard]] std::string absolute(const std::string& path);

}  // namespace forebay::io
