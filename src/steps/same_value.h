// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <forebay/plugin.h>
#include <forebay/steps/constant.h>

namespace forebay::steps {

/// The bytes of the value in the given type.
using ElementOf = std::function<Result<std::vector<std::byte>>(DType)>;

/// The common part of `constant` and `ones`: binds a new tensor of one value, with given sizes or those of another
/// tensor. `options.value` is not used. One error names all faults.
[[nodiscard]] Result<Bound<Step>> bind_same_value(const Constant& options, const Schema& in, const ElementOf& element);

}  // namespace forebay::steps
