// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <forebay/column.h>

#include "decoders/feature_plan.h"
#include "decoders/message_template.h"

namespace forebay::decoders {

/// The destination of the values of one source. Valid during one call.
struct alignas(64) Sink {
  const Output* output = nullptr;  ///< The output that uses the source; null when several do.
  Column* column = nullptr;
  std::byte* rows = nullptr;  ///< Row 0 of a fixed numeric column.
  std::size_t row_bytes = 0;
  std::uint64_t seen = 0;  ///< Stamp of the last record with the key.
};

/// State of one record while its entries are compared with a layout.
struct StraightRun {
  Layout* layout = nullptr;
  const MessageTemplate* head = nullptr;  ///< Template of the next entry.
  const std::uint8_t* at = nullptr;
  const std::uint8_t* end = nullptr;
  Sink* sinks = nullptr;  ///< By source.
  std::int64_t row = 0;
  std::uint64_t stamp = 0;  ///< Number of the record, for Sink::seen.
  std::size_t found = 0;    ///< Entries whose values were stored.
};

/// Stores the values of the next entries while each entry matches the layout and its values are one copy or one varint.
/// Stops before any other entry. Returns whether the entry where it stops matches `head`. Reads up to 64 bytes after
/// the end of the record.
using StraightKernel = bool (*)(StraightRun& run);

/// The fastest kernel for this processor, or null.
[[nodiscard]] StraightKernel straight_kernel();

}  // namespace forebay::decoders
