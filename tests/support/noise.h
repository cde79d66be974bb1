// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace forebay::tests {

/// Returns pseudo-random bytes, the same for the same arguments.
inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
  std::string out(size, '\0');
  std::uint64_t x = seed;
  for (char& byte : out) byte = static_cast<char>((x = x * 6364136223846793005U + 1442695040888963407U) >> 56);
  return out;
}

}  // namespace forebay::tests
