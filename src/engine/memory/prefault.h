// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <forebay/column.h>

#include "engine/memory/machine.h"

// Finding pages for a large row takes the system long. It is made to do that beforehand, step by step, and then the
// record is decoded at one go.
namespace forebay::engine {

/// Calls touch(byte) in each page of so many bytes; does nothing where they are few. Throws what the check does.
template <class Touch>
void each_page(std::size_t bytes, const StopCheck& check, Touch touch) {
  for (std::size_t at = 0; at < bytes && bytes > StopCheck::interval; at += smallest_page) {
    if (at % StopCheck::interval == 0) check.look();
    touch(at);
  }
}

/// Of memory that is to be written anew.
inline void find_pages(std::span<std::byte> rows, const StopCheck& check) {
  each_page(rows.size(), check, [rows](std::size_t at) { rows[at] = std::byte{0}; });
}

}  // namespace forebay::engine
