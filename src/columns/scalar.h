// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/json.h>

namespace forebay::columns {

/// One element of a tensor as bytes, from a document: null is 0, false or "". Fails with Code::config when the value is
/// of another kind, or out of the range of the type.
[[nodiscard]] Result<std::vector<std::byte>> element_from(const Json& value, DType dtype);

}  // namespace forebay::columns
