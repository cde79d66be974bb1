// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace forebay::sources {

/// What separates fields, and whether they may be in quotes.
struct CsvRules {
  char delimiter = ',';
  bool quotes = true;
};

/// The end of one record by the exact rules. A quote begins a quoted field only at the beginning of a field, before
/// which CRs are left out; it ends with a quote that no second one follows. Any other quote is text. A line feed that
/// is not in a quoted field ends the record.
struct RecordEnd {
  std::size_t at = 0;                     ///< The line feed, or the end of the bytes.
  std::optional<std::size_t> quote = {};  ///< The bytes end inside the quoted field that begins here.
};
/// `bytes` begin with a record.
[[nodiscard]] RecordEnd end_of_record(std::span<const std::byte> bytes, const CsvRules& rules);

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
