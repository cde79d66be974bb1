// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <forebay/column.h>
#include <forebay/record.h>

#include "engine/memory/machine.h"

// What takes long at a large record is that the system reads it, and that it finds pages for a large row. It is made to
// do that beforehand, step by step, and then the record is verified and decoded at one go.
namespace forebay::engine {

/// Calls touch(byte) in each page of so many bytes; does nothing where they are few. Throws what the check does.
template <class Touch>
void each_page(std::size_t bytes, const StopCheck& check, Touch touch) {
  for (std::size_t at = 0; at < bytes && bytes > StopCheck::interval; at += smallest_page) {
    if (at % StopCheck::interval == 0) check.look();
    touch(at);
  }
}

inline void read_pages(Record record, const StopCheck& check) {
  const auto* const bytes = static_cast<const volatile std::byte*>(record.data());
  each_page(record.size(), check, [bytes](std::size_t at) { static_cast<void>(bytes[at]); });
}

/// Of memory that is to be written anew.
inline void find_pages(std::span<std::byte> rows, const StopCheck& check) {
  each_page(rows.size(), check, [rows](std::size_t at) { rows[at] = std::byte{0}; });
}

}  // namespace forebay::engine
