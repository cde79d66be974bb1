// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace forebay {
namespace {

Isa supported() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
  if (avx2 && avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::scalar;
}

Isa capped() {
  const char* const text = std::getenv("FOREBAY_ISA");
  const std::string_view cap = text == nullptr ? "" : text;
  if (cap == "scalar") return Isa::scalar;
  if (cap == "avx2") return std::min(Isa::avx2, supported());
  return supported();
}

}  // namespace

Isa isa() {
  static const Isa best = capped();
  return best;
}

bool fast_pext() {
#if defined(__x86_64__)
  static const bool fast = isa() != Isa::scalar && !__builtin_cpu_is("amdfam17h");
  return fast;
#else
  return false;
#endif
}

}  // namespace forebay
