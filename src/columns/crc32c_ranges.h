// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::columns {

/// The CRC-32C of two adjacent ranges, from the checksums of both; the second range has `second_bytes` bytes.
[[nodiscard]] std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

/// Checksums of ranges of one file; ranges may overlap. Many ranges cost one pass over the bytes and a small constant
/// each: a mark every `step` bytes stores the checksum so far, and two marks give the checksum of the bytes between
/// them. Cheap when ranges come in ascending order; any other order is right but slower. One thread at a time.
class RangeChecksums {
 public:
  static constexpr std::size_t step = 1024;
  /// CRC-32C of bytes[begin, end); `offset` is where `bytes` begin in the file.
  [[nodiscard]] std::uint32_t of(std::span<const std::byte> bytes, std::int64_t offset, std::size_t begin,
                                 std::size_t end);
  [[nodiscard]] std::int64_t passed() const { return passed_; }  ///< Bytes that went into checksums so far.

 private:
  [[nodiscard]] std::int64_t last_mark() const {
    return first_ + static_cast<std::int64_t>((marks_.size() - 1) * step);
  }
  [[nodiscard]] std::uint32_t pass(std::span<const std::byte> bytes);
  void forget_before(std::int64_t place);

  std::int64_t first_ = 0;            // offset in the file of the first mark
  std::vector<std::uint32_t> marks_;  // mark i: checksum from a place at or before `first_` to first_ + i * step
  std::int64_t passed_ = 0;
};

}  // namespace forebay::columns
