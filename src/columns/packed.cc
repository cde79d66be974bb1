// SPDX-License-Identifier: Apache-2.0
#include "columns/packed.h"

#include <array>
#include <bit>

#include "columns/varint.h"

namespace forebay::columns {
namespace {

constexpr std::uint64_t tops = 0x8080808080808080;

std::size_t count(const std::uint8_t* at, std::size_t size) {
  std::size_t ends = 0;
  for (; size >= 8; at += 8, size -= 8) ends += static_cast<std::size_t>(std::popcount(~load64(at) & tops));
  for (; size > 0; ++at, --size) ends += *at < 0x80;
  return ends;
}

bool decode(const std::uint8_t* at, std::size_t size, std::int64_t* out, std::size_t count) {
  Wire wire{at, at + size};
  for (; count > 0; --count) {
    const std::uint64_t word = load64(wire.at);
    const std::uint64_t stop = ~word & tops;
    std::uint64_t value;
    if (stop != 0) {  // it ends within 8 bytes: no step depends on which one
      const auto bytes = static_cast<std::size_t>(std::countr_zero(stop) / 8 + 1);
      if (bytes > wire.size()) return false;
      value = join_sevens(word & (stop ^ (stop - 1)) & ~tops);
      wire.at += bytes;
    } else if (!read_varint(wire, value)) {
      return false;
    }
    *out++ = static_cast<std::int64_t>(value);
  }
  return wire.empty();
}

}  // namespace

constinit const PackedKernels packed_scalar{Isa::scalar, count, decode};

const PackedKernels& packed() { return fast_pext() ? packed_twins().back() : packed_scalar; }

std::span<const PackedKernels> packed_twins() {
#if defined(__x86_64__)
  static const std::array<PackedKernels, 3> all{packed_scalar, packed_avx2, packed_avx512};
#else
  static const std::array<PackedKernels, 1> all{packed_scalar};
#endif
  return std::span{all}.first(static_cast<std::size_t>(isa()) + 1);
}

}  // namespace forebay::columns
