// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cpu.h"
#include "columns/crc32c.h"

/// The frame of a TFRecord: length (8 bytes, little-endian), its masked CRC-32C, payload, its masked CRC-32C.
namespace forebay::sources {

inline constexpr std::size_t header_bytes = 12;
inline constexpr std::size_t footer_bytes = 4;

[[nodiscard]] inline std::uint64_t length_at(const std::byte* header) {
  std::uint64_t length = 0;
  std::memcpy(&length, header, sizeof(length));
  return length;
}

[[nodiscard]] inline std::uint32_t checksum_at(const std::byte* place) {
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, place, sizeof(checksum));
  return checksum;
}

/// The masked checksum in the header of a record of that length.
[[nodiscard]] inline std::uint32_t length_checksum(std::uint64_t length) {
  return columns::mask(columns::crc32c_scalar(length));
}

}  // namespace forebay::sources
