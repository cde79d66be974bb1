// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/error.h>

namespace forebay::cli {

/// Replaces this process by a program of the Python package: `main` of `module` with these arguments. FOREBAY_PYTHON
/// names the interpreter, as the package's console script does, or the PATH has one with the module. Returns only when
/// there is none: Code::config, and a message that begins with `why`.
[[nodiscard]] Result<void> run_python(const std::string& module, const std::vector<std::string>& arguments,
                                      const std::string& why);

}  // namespace forebay::cli
