// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/error.h>

namespace forebay::io {

/// Fails for what File::open would refuse, as far as that can be seen without opening it, with the same words.
[[nodiscard]] Result<void> check_regular(const std::string& path);

}  // namespace forebay::io
