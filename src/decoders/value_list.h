// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/column.h>

#include "columns/wire.h"

/// Int64List, FloatList and BytesList messages: packed, unpacked, or both, in any number of runs and pieces.
namespace forebay::decoders {

/// Appends the values; false when the list is malformed. Long lists ask `check`.
[[nodiscard]] bool read_ints(std::span<const columns::Wire> list, std::vector<std::int64_t>& out,
                             const StopCheck* check = nullptr);
[[nodiscard]] bool read_floats(std::span<const columns::Wire> list, std::vector<float>& out,
                               const StopCheck* check = nullptr);
[[nodiscard]] bool read_strings(std::span<const columns::Wire> list, std::vector<columns::Wire>& out,
                                const StopCheck* check = nullptr);

/// The varints that a packed run begins with, in at most `most` bytes: all of a run that is not longer; none when that
/// is too little for one.
[[nodiscard]] columns::Wire first_varints(columns::Wire run, std::size_t most);

/// The one packed run that a list is made of, as nearly all are; false when it is anything else.
[[nodiscard]] inline bool single_run(std::span<const columns::Wire> list, columns::Wire& run) {
  if (list.size() != 1) return false;
  columns::Wire wire = list[0];
  if (wire.empty() || *wire.at != 0x0a) return false;
  ++wire.at;
  return columns::read_bytes(wire, run) && wire.empty();
}

}  // namespace forebay::decoders
