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

/// The best instruction set of this processor, capped by the environment variable FOREBAY_ISA (scalar, avx2 or avx512).
/// The variable is read once; any other value caps nothing.
[[nodiscard]] Isa isa();

/// Whether PEXT takes only a few cycles. On AMD processors before Zen 3 it is microcode and takes up to 300 cycles.
[[nodiscard]] bool fast_pext();

}  // namespace forebay
