// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forebay/format.h>

#include "columns/crc32c_ranges.h"

namespace forebay::sources {

/// The first place from `from` on where 12 bytes are a frame's header: a length of at most `most` with its checksum.
/// Where fewer than 12 bytes are left, that place (at most the end).
[[nodiscard]] std::size_t next_header(std::span<const std::byte> bytes, std::size_t from, std::uint64_t most);
[[nodiscard]] std::size_t next_header_scalar(std::span<const std::byte> bytes, std::size_t from, std::uint64_t most);

/// What Format::resync promises, for TFRecord. Looking at a place costs about one checksum of eight bytes. A place with
/// a good header costs the checksum of its payload besides; whoever writes overlapping headers on purpose (one at
/// random in 2^32 places is right) pays for no more than one pass over the bytes, because `sums` gives every further
/// range within them for two pieces of 1 KiB. So the work is linear in the bytes, whatever they are.
[[nodiscard]] Resync next_frame(std::span<const std::byte> bytes, std::int64_t offset, std::size_t from, bool last,
                                std::uint64_t most, columns::RangeChecksums& sums);

}  // namespace forebay::sources
