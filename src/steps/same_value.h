// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <forebay/plugin.h>
#include <forebay/steps/constant.h>

namespace forebay::steps {

/// The bytes of the value in a type.
using ElementOf = std::function<Result<std::vector<std::byte>>(DType)>;

/// Binds what `constant` and `ones` have in common: a new tensor of one value, of a given or another tensor's shape.
/// `options.value` is not looked at. One error names all faults.
[[nodiscard]] Result<Bound<Step>> bind_same_value(const Constant& options, const Schema& in, const ElementOf& element);

}  // namespace forebay::steps
