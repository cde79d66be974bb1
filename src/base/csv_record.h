// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Where a record of comma-separated values ends, and its fields, by the exact rules. The source `csv` has a faster way
/// for usual records, and the decoder `csv` one that says what is wrong in a field.
namespace forebay {

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

/// Divides a record into fields and takes quotes off; the line end after it is left out. At most `most` + 1 fields are
/// read.
void split_fields(std::string_view record, const CsvRules& rules, std::size_t most, std::vector<std::string>& fields);

}  // namespace forebay
