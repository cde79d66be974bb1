// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forebay/format.h>

#include "columns/crc32c_ranges.h"

namespace forebay::sources {

/// The first place from `from` on where 12 bytes are the header of a frame: a length of at most `most` with its
/// checksum. If there is none, the place where fewer than 12 bytes are left.
[[nodiscard]] std::size_t next_header(std::span<const std::byte> bytes, std::size_t from, std::uint64_t most);
[[nodiscard]] std::size_t next_header_scalar(std::span<const std::byte> bytes, std::size_t from, std::uint64_t most);

/// Format::resync for TFRecord. A place costs about one checksum of eight bytes. A place with a valid header also costs
/// the checksum of its payload. By chance one place in 2^32 has a valid header; a hostile file may have many
/// overlapping ones. They cost one pass over the bytes in all, because `sums` gives every further range for two pieces
/// of 1 KiB. So the work is linear in the number of bytes for any input.
[[nodiscard]] Resync next_frame(std::span<const std::byte> bytes, std::int64_t offset, std::size_t from, bool last,
                                std::uint64_t most, columns::RangeChecksums& sums);

}  // namespace forebay::sources
