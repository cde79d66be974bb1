// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/error.h>

namespace forebay::io {

/// Checks a path without opening the file. Fails with the error of File::open when the path does not exist or is not a
/// regular file.
[[nodiscard]] Result<void> check_regular(const std::string& path);

}  // namespace forebay::io
