// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/csv_record.h"

namespace forebay::sources {

struct FoundEnds {
  std::size_t count = 0;
  bool unusual = false;  ///< The record after the last one has a quote that neither begins nor ends a field.
};
/// Writes the offsets of the line feeds that end records to `out` until it is full, the bytes end or something unusual
/// comes; the exact rules then find the end of that record. `bytes` begin with a record.
using FindRecordEnds = FoundEnds (*)(std::span<const std::byte> bytes, const CsvRules& rules,
                                     std::span<std::uint32_t> out);

[[nodiscard]] FoundEnds find_record_ends(std::span<const std::byte> bytes, const CsvRules& rules,
                                         std::span<std::uint32_t> out);
/// All versions that this processor can run, the portable one first. The records that they find are the same.
[[nodiscard]] std::span<const FindRecordEnds> record_end_twins();

}  // namespace forebay::sources
