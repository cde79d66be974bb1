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
  /// The number of varints that end in these bytes.
  std::size_t (*count)(const std::uint8_t* at, std::size_t size);
  /// Decodes when the bytes are exactly `count` varints of at most 10 bytes each, else returns false and leaves `out`
  /// unspecified. Never writes beyond out[count - 1]; may read 64 bytes after the end of the input.
  bool (*decode)(const std::uint8_t* at, std::size_t size, std::int64_t* out, std::size_t count);
};

/// The best kernels for this processor. All but the scalar ones use PEXT.
[[nodiscard]] const PackedKernels& packed();

/// All kernels that this processor runs, slowest first.
[[nodiscard]] std::span<const PackedKernels> packed_twins();

#if defined(__x86_64__)
extern const PackedKernels packed_avx2;
extern const PackedKernels packed_avx512;
#endif
extern const PackedKernels packed_scalar;

}  // namespace forebay::columns
