// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"

namespace forebay::columns {

/// Kernels over runs of varints ("packed" lists). All twins give the same results.
struct PackedKernels {
  Isa isa;
  /// How many varints end in these bytes.
  std::size_t (*count)(const std::uint8_t* at, std::size_t size);
  /// Decodes when the bytes are exactly `count` varints of at most 10 bytes each, else gives false and leaves `out`
  /// unspecified. Never writes behind out[count - 1]; may look at 64 bytes behind the end of the input.
  bool (*decode)(const std::uint8_t* at, std::size_t size, std::int64_t* out, std::size_t count);
};

/// The best for this processor. All but the scalar ones are made of PEXT.
[[nodiscard]] const PackedKernels& packed();

/// All that this processor runs, slowest first.
[[nodiscard]] std::span<const PackedKernels> packed_twins();

#if defined(__x86_64__)
extern const PackedKernels packed_avx2;
extern const PackedKernels packed_avx512;
#endif
extern const PackedKernels packed_scalar;

}  // namespace forebay::columns
