// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/plugin.h>
#include <forebay/steps/constant.h>

namespace forebay::steps {

/// Binds what `constant` and `ones` have in common: a tensor of one value, of a given or another tensor's shape.
[[nodiscard]] Result<Bound<Step>> bind_same_value(const Constant& options, const Schema& in);

}  // namespace forebay::steps
