// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/json.h>

namespace forebay::cli {

/// Fails with Code::io when the file cannot be read, Code::state when it holds no JSON.
[[nodiscard]] Result<Json> read_state_file(const std::string& path);
/// Complete or not at all; what was there before stays until then.
[[nodiscard]] Result<void> write_state_file(const std::string& path, const Json& state);

}  // namespace forebay::cli
