// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <forebay/batch.h>

namespace forebay {

/// Elements first … first + out.size() of a numeric tensor as numbers of one type, by the rules of the step `cast`:
/// floats become integers by truncation toward zero, integers wrap, everything but zero is true. The tensor must have
/// that many elements and hold neither strings nor complex numbers.
void convert(const Tensor& tensor, std::int64_t first, std::span<double> out);
void convert(const Tensor& tensor, std::int64_t first, std::span<std::int64_t> out);

}  // namespace forebay
