// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <forebay/column.h>

#include "decoders/feature_plan.h"
#include "decoders/message_template.h"

namespace forebay::decoders {

/// Where the values of one source go, for the length of one call.
struct alignas(64) Sink {
  const Output* output = nullptr;  ///< The only one that uses the source, else null.
  Column* column = nullptr;
  std::byte* rows = nullptr;  ///< Row 0 of a fixed numeric column.
  std::size_t row_bytes = 0;
  std::uint64_t seen = 0;  ///< Stamp of the last record that had the key.
};

/// A record on its way through its layout.
struct StraightRun {
  Layout* layout = nullptr;
  const MessageTemplate* head = nullptr;  ///< Of the next entry, if it is as in the layout.
  const std::uint8_t* at = nullptr;
  const std::uint8_t* end = nullptr;
  Sink* sinks = nullptr;  ///< By source.
  std::int64_t row = 0;
  std::uint64_t stamp = 0;  ///< Of the record.
  std::size_t found = 0;    ///< Entries whose values were stored.
};

/// Stores the values of the entries that come next as long as they are those of the layout, one after the other, and
/// their values take one copy or are one varint. Stops before any other. True: the entry where it stops is that of
/// `head`. Looks at up to 64 bytes behind the record's end.
using StraightKernel = bool (*)(StraightRun& run);

/// The best for this processor, or null.
[[nodiscard]] StraightKernel straight_kernel();

}  // namespace forebay::decoders
