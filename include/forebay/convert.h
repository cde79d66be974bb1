// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <forebay/batch.h>

namespace forebay {

/// Writes out.size() elements of a numeric tensor to `out`, from element `first` on, converted as the step `cast` does:
/// floats become integers by truncation toward zero, integers wrap, everything but zero is true. The tensor must have
/// these elements, and hold neither strings nor complex numbers.
void convert(const Tensor& tensor, std::int64_t first, std::span<double> out);
void convert(const Tensor& tensor, std::int64_t first, std::span<std::int64_t> out);

}  // namespace forebay
