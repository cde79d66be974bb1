// SPDX-License-Identifier: Apache-2.0
#include "columns/crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <isa-l/crc.h>

#include "base/cpu.h"

namespace forebay::columns {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? crc32c_polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t i = 1; i < 8; ++i)
      tables[i][byte] = (tables[i - 1][byte] >> 8) ^ tables[0][tables[i - 1][byte] & 0xff];
  }
  return tables;
}

constexpr Tables tables = make_tables();

std::uint64_t load(const std::byte* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// Adds eight bytes to a checksum that is not yet inverted.
std::uint32_t step(std::uint32_t crc, std::uint64_t word) {
  word ^= crc;
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out ^= tables[7 - i][(word >> (8 * i)) & 0xff];
  return out;
}

#if defined(__x86_64__)
// From these sizes on ISA-L's folding is worth its call and its tables: for one range, and for several at once.
constexpr std::size_t long_bytes = 256;
constexpr std::size_t long_together = 384;

[[gnu::target("sse4.2")]] std::uint32_t short_sse42(const std::byte* at, std::size_t size,
                                                    std::uint64_t crc = 0xffffffffU) {
  for (; size >= 8; size -= 8, at += 8) crc = _mm_crc32_u64(crc, load(at));
  auto out = static_cast<std::uint32_t>(crc);
  if ((size & 4) != 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    out = _mm_crc32_u32(out, word);
    at += 4;
  }
  for (size &= 3; size != 0; --size) out = _mm_crc32_u8(out, static_cast<std::uint8_t>(*at++));
  return ~out;
}

// The instruction has a latency of three cycles and a throughput of one.
constexpr std::size_t lanes = 4;

[[gnu::target("sse4.2")]] void lanes_sse42(const std::span<const std::byte>* ranges, std::uint32_t* out) {
  std::size_t common = ranges[0].size();
  for (std::size_t i = 1; i < lanes; ++i) common = std::min(common, ranges[i].size());
  common &= ~std::size_t{7};
  std::uint64_t crcs[lanes] = {0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU};
  for (std::size_t at = 0; at < common; at += 8) {
    for (std::size_t i = 0; i < lanes; ++i) crcs[i] = _mm_crc32_u64(crcs[i], load(ranges[i].data() + at));
  }
  for (std::size_t i = 0; i < lanes; ++i)
    out[i] = short_sse42(ranges[i].data() + common, ranges[i].size() - common, crcs[i]);
}

// ISA-L leaves the upper halves of the vector registers dirty. Every SSE instruction after it would wait for them,
// which costs ten times as much as the checksum.
[[gnu::target("avx")]] std::uint32_t long_isal(const std::byte* at, std::size_t size) {
  constexpr std::size_t most = std::size_t{1} << 30;  // ISA-L takes the length as an int
  std::uint32_t crc = 0xffffffffU;
  while (size != 0) {
    const std::size_t part = size < most ? size : most;
    auto* const bytes = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(at));
    crc = crc32_iscsi(bytes, static_cast<int>(part), crc);  // inverts neither before nor after
    at += part;
    size -= part;
  }
  _mm256_zeroupper();
  return ~crc;
}
#endif

}  // namespace

std::uint32_t crc32c_scalar(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffU;
  const std::byte* at = bytes.data();
  std::size_t size = bytes.size();
  for (; size >= 8; size -= 8, at += 8) crc = step(crc, load(at));
  for (; size != 0; --size, ++at) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint32_t>(*at)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c_scalar(std::uint64_t number) { return ~step(0xffffffffU, number); }

std::uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool fast = isa() != Isa::scalar;
  if (fast)
    return bytes.size() < long_bytes ? short_sse42(bytes.data(), bytes.size()) : long_isal(bytes.data(), bytes.size());
#endif
  return crc32c_scalar(bytes);
}

void crc32c(std::span<const std::span<const std::byte>> ranges, std::uint32_t* out) {
  std::size_t done = 0;
#if defined(__x86_64__)
  static const bool fast = isa() != Isa::scalar;
  for (; fast && done + lanes <= ranges.size(); done += lanes) {
    const auto together = ranges.subspan(done, lanes);
    if (std::ranges::any_of(together, [](const auto& range) { return range.size() >= long_together; })) break;
    lanes_sse42(together.data(), out + done);
  }
#endif
  for (; done < ranges.size(); ++done) out[done] = crc32c(ranges[done]);
}

}  // namespace forebay::columns
