// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The stored form of an index (docs/formats/index.md). All numbers are little-endian, as on all supported processors.
namespace forebay::engine {

inline constexpr std::array<char, 8> index_magic{'\x89', 'F', 'B', 'I', 'N', 'D', 'X', '\n'};
inline constexpr std::uint32_t index_version = 2;

struct StoredHead {
  std::array<char, 8> magic = index_magic;
  std::uint32_t version = index_version;
  std::uint32_t not_version = ~index_version;  ///< Tells a flipped bit from a newer version.
  std::uint64_t total = 0;                     ///< Bytes of the whole index.
  std::uint64_t file_size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head_hash = 0;
  std::uint64_t tail_hash = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t points = 0;
  std::uint64_t history_bytes = 0;
  std::uint64_t sums = 0;
  std::uint8_t compression = 0;
  std::uint8_t signature_size = 0;
  std::array<std::uint8_t, 6> zero{};
};
static_assert(sizeof(StoredHead) == 104);

struct StoredPoint {
  std::uint64_t compressed = 0;
  std::uint64_t uncompressed = 0;
  std::uint64_t history = 0;  ///< Offset of its history in the histories.
  std::uint32_t history_size = 0;
  std::uint8_t at = 0;
  std::uint8_t bit = 0;
  std::array<std::uint8_t, 2> zero{};
};
static_assert(sizeof(StoredPoint) == 32);

inline constexpr std::size_t index_checksum_bytes = 4;

/// Bytes of a chunk. The content of a compressed file from one restart point to the next is divided into chunks of this
/// size; the last one is shorter. Each chunk has a checksum: the stream's own checksum cannot verify content that is
/// decompressed from a restart point inside the stream.
inline constexpr std::int64_t chunk_bytes = 64 * 1024;

/// Offset of the records in the index. The signature is stored after the head, padded to a multiple of 8 bytes.
[[nodiscard]] constexpr std::size_t records_begin(std::size_t signature_size) {
  return sizeof(StoredHead) + (signature_size + 7) / 8 * 8;
}

}  // namespace forebay::engine
