// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace forebay::decoders {

/// What a delimiter and a quote are in a record.
struct CsvSyntax {
  char delimiter = ',';
  bool quotes = true;
  std::size_t max_field = 16 << 20;
};

enum class CsvFault : std::uint8_t {
  none,
  stray,     ///< A quote, CR or LF in a field that does not begin with a quote.
  escape,    ///< A quote in a quoted field before something else than a quote, a delimiter or the end.
  unclosed,  ///< A quoted field that no quote ends.
  too_long,
};

/// One field of a record.
struct CsvField {
  std::string_view text;  ///< Without quotes. Valid as long as the record and the scratch memory.
  std::size_t next = 0;   ///< Where the next field begins; the record's size + 1 when the record ends this one.
  CsvFault fault = CsvFault::none;
};

/// Reads the field that begins at `at`, which must be in the record and no CR or LF.
[[nodiscard]] CsvField read_field(std::string_view record, std::size_t at, const CsvSyntax& syntax,
                                  std::string& scratch);
/// The first place from `at` on that is no CR or LF.
[[nodiscard]] std::size_t skip_line_ends(std::string_view record, std::size_t at);
/// The record without the line end after it.
[[nodiscard]] std::string_view without_line_end(std::string_view record);

/// How a kernel reads a field.
enum class CsvKernel : std::uint8_t { none, skip, float32, float64, int32, int64 };

[[nodiscard]] constexpr bool has_fraction(CsvKernel kernel) {
  return kernel == CsvKernel::float32 || kernel == CsvKernel::float64;
}

/// One field of all records: its kernel, and where the value of the first row of a call goes.
struct CsvTarget {
  CsvKernel kernel = CsvKernel::none;
  std::byte* values = nullptr;
};

/// A place between two fields of a record.
struct CsvPlace {
  std::size_t at = 0;     ///< In the record: `next` of the field before.
  std::size_t field = 0;  ///< Its number.
};

/// Reads fields from a place on and writes their values to row `row`, as long as they are of the usual form: plain
/// numbers of at most 15 digits without exponent, and skipped fields, both also in quotes that have no quote inside.
/// Returns the place of the first field that it has not read. 64 bytes after the record may be read.
using ReadFields = CsvPlace (*)(std::string_view record, CsvPlace from, std::span<const CsvTarget> targets,
                                std::size_t row, const CsvSyntax& syntax);

/// The best one for this processor.
[[nodiscard]] ReadFields read_fields();
/// All that this processor can run, the portable one first. They read the same values, though not the same fields.
[[nodiscard]] std::span<const ReadFields> read_fields_twins();

}  // namespace forebay::decoders
