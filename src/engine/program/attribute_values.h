// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/program/program.h"

namespace forebay::engine {

/// Writes the value of each row as the integer that the order gets, to every `stride`-th place of `out` from `first`
/// on. Fails with Code::data and the row when the attribute has no integer for a string.
[[nodiscard]] Result<void> write_integers(const EarlyAttribute& attribute, const expression::Values& values,
                                          std::size_t first, std::size_t stride, std::span<std::int64_t> out);

}  // namespace forebay::engine
