// SPDX-License-Identifier: Apache-2.0
#include "sources/resync.h"

#include <algorithm>

#include "base/cpu.h"
#include "base/zeros.h"
#include "columns/crc32c.h"
#include "sources/frame.h"

namespace forebay::sources {
namespace {

template <std::uint32_t (*checksum)(std::uint64_t)>
[[gnu::always_inline]] inline std::size_t next(std::span<const std::byte> bytes, std::size_t from, std::uint64_t max) {
  if (bytes.size() < header_bytes) return std::min(from, bytes.size());
  const std::size_t end = bytes.size() - header_bytes + 1;
  for (std::size_t at = from; at < end; ++at) {
    const std::byte* const header = bytes.data() + at;
    const std::uint64_t length = length_at(header);
    // The limit is checked first: it excludes most places in most data.
    if (length > max) continue;
    const std::uint32_t stored = checksum_at(header + 8);
    if (columns::mask(checksum(length)) == stored) return at;
    // Zeros are not a header, and corrupt files have whole pages of them: skip to the first header with another last
    // byte.
    if (length == 0 && stored == 0) at += leading_zeros(bytes.subspan(at + header_bytes));
  }
  return std::clamp(from, end, bytes.size());
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::size_t next_header_sse42(std::span<const std::byte> bytes, std::size_t from,
                                                        std::uint64_t max) {
  return next<columns::crc32c_sse42>(bytes, from, max);
}
#endif

}  // namespace

std::size_t next_header_scalar(std::span<const std::byte> bytes, std::size_t from, std::uint64_t max) {
  return next<columns::crc32c_scalar>(bytes, from, max);
}

std::size_t next_header(std::span<const std::byte> bytes, std::size_t from, std::uint64_t max) {
#if defined(__x86_64__)
  if (isa() != Isa::scalar) return next_header_sse42(bytes, from, max);
#endif
  return next_header_scalar(bytes, from, max);
}

Resync next_frame(std::span<const std::byte> bytes, std::int64_t offset, std::size_t from, bool last, std::uint64_t max,
                  columns::RangeChecksums& sums) {
  for (std::size_t at = from;; ++at) {
    at = next_header(bytes, at, max);
    const std::size_t left = bytes.size() - at;
    if (left < header_bytes) {
      if (last) return {.at = bytes.size()};
      return {.at = at, .wanted = at + header_bytes};
    }
    const std::uint64_t length = length_at(bytes.data() + at);
    const std::size_t frame = header_bytes + length + footer_bytes;  // `most` is below 2^32: no wrap
    if (frame > left) {
      if (!last) return {.at = at, .wanted = at + frame};
      continue;
    }
    const std::size_t payload = at + header_bytes;
    const std::size_t end = payload + length;
    if (columns::mask(sums.of(bytes, offset, payload, end)) == checksum_at(bytes.data() + end))
      return {.at = at, .found = true};
  }
}

}  // namespace forebay::sources
