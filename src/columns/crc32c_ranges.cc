// SPDX-License-Identifier: Apache-2.0
#include "columns/crc32c_ranges.h"

#include <array>

#include "columns/crc32c.h"

namespace forebay::columns {
namespace {

/// The product of two polynomials modulo that of CRC-32C, all bit-reflected as checksums are: the highest bit is x^0.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000U; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? crc32c_polynomial : 0);
  }
  return product;
}

/// [i] = x^(8 * 2^i): 2^i zero bytes multiply a checksum by this.
constexpr std::array<std::uint32_t, 64> make_zeros() {
  std::array<std::uint32_t, 64> zeros{};
  zeros[0] = 0x80000000U >> 8;
  for (std::size_t i = 1; i < zeros.size(); ++i) zeros[i] = multiply(zeros[i - 1], zeros[i - 1]);
  return zeros;
}

constexpr std::array<std::uint32_t, 64> zeros = make_zeros();

}  // namespace

std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  for (std::size_t i = 0; second_bytes != 0; ++i, second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) first = multiply(zeros[i], first);
  }
  return first ^ second;
}

std::uint32_t RangeChecksums::pass(std::span<const std::byte> bytes) {
  passed_ += static_cast<std::int64_t>(bytes.size());
  return crc32c(bytes);
}

void RangeChecksums::forget_before(std::int64_t place) {
  const auto dead = static_cast<std::size_t>(place - first_) / step;
  if (dead <= marks_.size() / 2) return;  // rare enough that moving the rest is cheap
  marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(dead));
  first_ += static_cast<std::int64_t>(dead * step);
}

std::uint32_t RangeChecksums::of(std::span<const std::byte> bytes, std::int64_t offset, std::size_t begin,
                                 std::size_t end) {
  if (end - begin < 2 * step) return pass(bytes.subspan(begin, end - begin));
  const std::int64_t from = offset + static_cast<std::int64_t>(begin);
  const std::int64_t to = offset + static_cast<std::int64_t>(end);
  if (marks_.empty() || from < first_ || from > last_mark()) {
    first_ = from;
    marks_.assign(1, 0);
  }
  forget_before(from);
  const auto at = [&](std::int64_t place) { return static_cast<std::size_t>(place - offset); };
  while (last_mark() + static_cast<std::int64_t>(step) <= to) {
    marks_.push_back(crc32c_joined(marks_.back(), pass(bytes.subspan(at(last_mark()), step)), step));
  }
  // Three pieces: up to the first mark in the range, from there to the last one, and the rest.
  const std::size_t low = (static_cast<std::size_t>(from - first_) + step - 1) / step;
  const std::size_t high = static_cast<std::size_t>(to - first_) / step;
  const std::size_t low_at = at(first_ + static_cast<std::int64_t>(low * step));
  const std::size_t high_at = at(first_ + static_cast<std::int64_t>(high * step));
  const std::uint32_t head = pass(bytes.subspan(begin, low_at - begin));
  const std::uint32_t middle = crc32c_joined(marks_[low], marks_[high], high_at - low_at);
  const std::uint32_t tail = pass(bytes.subspan(high_at, end - high_at));
  return crc32c_joined(crc32c_joined(head, middle, high_at - low_at), tail, end - high_at);
}

}  // namespace forebay::columns
