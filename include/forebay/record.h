// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Names one thing that an order moves: a file (`block` is its number, the rest 0), a record of a scanned block, or,
/// for windows, a row span of a decoded block. Plain data; who holds one need not know what it names.
struct Handle {
  std::uint32_t block = 0;    ///< Slot of the block in the engine's table.
  std::uint32_t ordinal = 0;  ///< Record within the block.
  std::uint32_t offset = 0;   ///< Its first payload byte, from the block's base.
  std::uint32_t length = 0;   ///< Payload bytes.

  bool operator==(const Handle&) const = default;
};
static_assert(sizeof(Handle) == 16);

/// Where a record lies inside the bytes that were scanned.
struct Extent {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

/// Bytes of one record, for the length of a call. `slack` bytes behind the end may be read (not used), never written.
using Record = std::span<const std::byte>;
inline constexpr std::size_t record_slack = 64;

}  // namespace forebay
