// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/json.h>

namespace forebay::columns {

/// One element of a tensor as bytes, from a document: null is 0, false or "". Fails with Code::config when the value is
/// of another kind, or out of the range of the type. Floats may also be "nan", "inf" and "-inf", which JSON has no
/// number for.
[[nodiscard]] Result<std::vector<std::byte>> element_from(const Json& value, DType dtype);

/// The float of a document: a number, "nan", "inf" or "-inf". Nothing for other values.
[[nodiscard]] std::optional<double> real_from(const Json& value);

}  // namespace forebay::columns
