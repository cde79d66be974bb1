// SPDX-License-Identifier: Apache-2.0
#include "steps/image/resample_bytes.h"

namespace forebay::steps {

namespace {

void sum_rows_scalar(const std::uint8_t* const* rows, const std::int16_t* weights, std::int64_t taps,
                     std::int64_t count, std::int16_t* out) {
  constexpr int shift = AxisWeights::fixed_bits - ByteKernels::between_bits;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t sum = 1 << (shift - 1);
    for (std::int64_t k = 0; k < taps; ++k) sum += rows[k][i] * weights[k];
    out[i] = static_cast<std::int16_t>(sum >> shift);
  }
}

void sum_columns_scalar(const std::int16_t* row, const AxisWeights& columns, int channels, std::uint8_t* out,
                        std::int64_t column) {
  for (std::int64_t x = 0; x < columns.outputs(); ++x, out += column) {
    const auto taps = columns.of(x);
    for (int c = 0; c < channels; ++c) {
      const std::int16_t* in = row + taps.begin * channels + c;
      std::int32_t sum = 1 << (ByteKernels::shift - 1);
      for (std::int64_t k = 0; k < taps.count; ++k, in += channels) sum += *in * taps.fixed[k];
      out[c] = static_cast<std::uint8_t>(sum >> ByteKernels::shift);
    }
  }
}

}  // namespace

constinit const ByteKernels byte_kernels_scalar{sum_rows_scalar, sum_columns_scalar};

const ByteKernels& byte_kernels() {
#if defined(__x86_64__)
  static const ByteKernels& best = isa() >= Isa::avx2 ? byte_kernels_avx2 : byte_kernels_scalar;
  return best;
#else
  return byte_kernels_scalar;
#endif
}

}  // namespace forebay::steps
