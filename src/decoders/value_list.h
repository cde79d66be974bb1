// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "columns/wire.h"

/// Int64List, FloatList and BytesList messages: packed, unpacked, or both, in any number of runs and pieces.
namespace forebay::decoders {

/// Appends the values; false when the list is malformed.
[[nodiscard]] bool read_ints(std::span<const columns::Wire> list, std::vector<std::int64_t>& out);
[[nodiscard]] bool read_floats(std::span<const columns::Wire> list, std::vector<float>& out);
[[nodiscard]] bool read_strings(std::span<const columns::Wire> list, std::vector<columns::Wire>& out);

/// The one packed run that a list is made of, as nearly all are; false when it is anything else.
[[nodiscard]] inline bool single_run(std::span<const columns::Wire> list, columns::Wire& run) {
  if (list.size() != 1) return false;
  columns::Wire wire = list[0];
  if (wire.empty() || *wire.at != 0x0a) return false;
  ++wire.at;
  return columns::read_bytes(wire, run) && wire.empty();
}

}  // namespace forebay::decoders
