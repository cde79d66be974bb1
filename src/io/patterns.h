// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/error.h>

namespace forebay::io {

/// What io::expand gives for each pattern by itself; fewer when one costs too much, which is then the last. A folder
/// that may not be read fails with Code::io: it might hold what is meant.
[[nodiscard]] std::vector<Result<std::vector<std::string>>> expand_each(const std::vector<std::string>& patterns,
                                                                        const std::string& folder);

/// From the root on; `path` itself where the current folder is not known.
[[nodiscard]] std::string absolute(const std::string& path);

}  // namespace forebay::io
