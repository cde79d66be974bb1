// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// Instruction sets that kernels are written for, each including the ones before it.
enum class Isa : std::uint8_t {
  scalar,
  avx2,    ///< With BMI1 and BMI2.
  avx512,  ///< With BW, VL, DQ, VBMI and VBMI2.
};

/// What this processor runs, capped by the environment variable FOREBAY_ISA (scalar, avx2 or avx512), which is read
/// once; another value of it caps nothing.
[[nodiscard]] Isa isa();

/// Whether PEXT takes a few cycles. It is made of microcode on AMD's processors before Zen 3, and takes up to some
/// three hundred there.
[[nodiscard]] bool fast_pext();

}  // namespace forebay
