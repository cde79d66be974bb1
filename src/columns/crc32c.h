// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/// CRC-32C (Castagnoli), and the masked form that record files store.
namespace forebay::columns {

inline constexpr std::uint32_t crc32c_polynomial = 0x82f63b78U;  ///< Bit-reflected.

[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes);
/// The checksum of each of `ranges`, into `out`. Together they take less time than one after the other.
void crc32c(std::span<const std::span<const std::byte>> ranges, std::uint32_t* out);
/// The same by tables, for any processor: the reference that the fast kernel is tested against.
[[nodiscard]] std::uint32_t crc32c_scalar(std::span<const std::byte> bytes);

[[nodiscard]] constexpr std::uint32_t mask(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }
[[nodiscard]] constexpr std::uint32_t unmask(std::uint32_t masked) {
  const std::uint32_t turned = masked - 0xa282ead8U;
  return (turned >> 17) | (turned << 15);
}
[[nodiscard]] inline std::uint32_t masked_crc32c(std::span<const std::byte> bytes) { return mask(crc32c(bytes)); }

/// The checksum of the eight bytes of a little-endian number, for record headers.
[[nodiscard]] std::uint32_t crc32c_scalar(std::uint64_t number);
#if defined(__x86_64__)
/// Requires SSE 4.2 (isa() is not scalar).
[[nodiscard, gnu::target("sse4.2")]] inline std::uint32_t crc32c_sse42(std::uint64_t number) {
  return ~static_cast<std::uint32_t>(_mm_crc32_u64(0xffffffffU, number));
}
#endif

}  // namespace forebay::columns
