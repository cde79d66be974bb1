// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/json.h>

namespace forebay::steps {

/// The bytes of one element of type `dtype` with that value; null is 0, false or "". Fails when the value is of another
/// kind or does not fit the type.
[[nodiscard]] Result<std::vector<std::byte>> element_from(const Json& value, DType dtype);

}  // namespace forebay::steps
