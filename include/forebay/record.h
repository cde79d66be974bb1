// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Names one thing that an order moves: a file (`block` is its number, the rest 0) or a record of a scanned block.
/// Plain data: an order need not know which of them a handle names.
struct Handle {
  std::uint32_t block = 0;    ///< Slot of the block in the engine's table.
  std::uint32_t ordinal = 0;  ///< Record within the block.
  std::uint32_t offset = 0;   ///< Its first payload byte, from the block's base.
  std::uint32_t length = 0;   ///< Payload bytes.

  static constexpr std::uint32_t nowhere = UINT32_MAX;  ///< As `block`: the handle names nothing.
  bool operator==(const Handle&) const = default;
};
static_assert(sizeof(Handle) == 16);

/// The place of a record in the scanned bytes.
struct Extent {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

/// Bytes of one record, valid during the call. `record_slack` bytes after its end may be read, so that a decoder may
/// load whole words; their values have no meaning. Nothing may be written.
using Record = std::span<const std::byte>;
inline constexpr std::size_t record_slack = 64;

}  // namespace forebay
