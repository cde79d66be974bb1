// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <forebay/column.h>

#include "engine/memory/machine.h"

// Page faults of large rows are taken in steps, before the record is decoded in one call. The faults take most of the
// time of a large record, and a run can be stopped between two steps.
namespace forebay::engine {

/// Calls touch(offset) once for every page of `bytes` bytes; does nothing for less than StopCheck::interval. Throws
/// what `check` throws.
template <class Touch>
void each_page(std::size_t bytes, const StopCheck& check, Touch touch) {
  for (std::size_t at = 0; at < bytes && bytes > StopCheck::interval; at += smallest_page) {
    if (at % StopCheck::interval == 0) check.look();
    touch(at);
  }
}

/// Takes the page faults of memory that will be overwritten. Changes its content. Throws what `check` throws.
inline void find_pages(std::span<std::byte> rows, const StopCheck& check) {
  each_page(rows.size(), check, [rows](std::size_t at) { rows[at] = std::byte{0}; });
}

}  // namespace forebay::engine
