// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/cpu.h"
#include "steps/image/axis_weights.h"

namespace forebay::steps {

/// Sums of a resize of 8-bit pixels, in integers, so that all processors compute the same bytes.
struct ByteKernels {
  static constexpr int between_bits = 6;     ///< Fraction bits of a sum of rows.
  static constexpr std::int64_t slack = 96;  ///< Elements that may be read or written after the end of every row.
  static constexpr int shift = between_bits + AxisWeights::fixed_bits;  ///< Fraction bits of a sum of columns.

  /// out[i] = Σ rows[k][i] · weights[k], with `between_bits` fraction bits. `taps` is even.
  void (*sum_rows)(const std::uint8_t* const* rows, const std::int16_t* weights, std::int64_t taps, std::int64_t count,
                   std::int16_t* out);
  /// Output pixel x of `columns` is the weighted sum of pixels of `row`, rounded. Its channels are written to
  /// out + x · column, 1 to 4 bytes.
  void (*sum_columns)(const std::int16_t* row, const AxisWeights& columns, int channels, std::uint8_t* out,
                      std::int64_t column);
};

extern const ByteKernels byte_kernels_scalar;
#if defined(__x86_64__)
extern const ByteKernels byte_kernels_avx2;
#endif

/// Those for this processor.
[[nodiscard]] const ByteKernels& byte_kernels();

}  // namespace forebay::steps
