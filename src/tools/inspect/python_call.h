// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/json.h>

namespace forebay::tools {

/// The call in Python that makes the pipeline of a document with one source: a statement for the name `pipe`.
[[nodiscard]] std::string python_call(const Json& document);

/// The value as an expression of Python. Bytes of strings that are no UTF-8 are as Python has them in paths.
[[nodiscard]] std::string python_literal(const Json& value);

}  // namespace forebay::tools
