// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/plugin.h>
#include <forebay/scalar.h>

namespace forebay {

/// What one counts of a timestamp since 1970-01-01 00:00 UTC is.
enum class TimeUnit : std::uint8_t { s, ms, us, ns };
template <>
struct EnumNames<TimeUnit> {
  static constexpr std::array<std::string_view, 4> names{"s", "ms", "us", "ns"};
};

/// How the text of a field becomes a value.
struct CsvColumn {
  DType dtype = DType::float32;  ///< Any integer type, float32, float64, bool or string.
  /// The value of an empty field and of one that is `na_value`. Left out: such a field is an error.
  Scalar default_value = {};
  /// Of int64: the text is a date, or a date and a time (ISO 8601), and the value counts these units.
  std::optional<TimeUnit> timestamp = {};
};

template <>
struct FieldsOf<CsvColumn> {
  static const Fields<CsvColumn>& get();
};

/// Decodes records of comma-separated values: one scalar tensor for each column. After the source `csv` the options
/// below `columns` come from the source and may not be given again; after other sources they say what a record is.
///
/// * A field that begins with a quote ends with a quote before a delimiter or the record's end. In it, "" is one quote,
///   and delimiters, CR and LF are text. A quote anywhere else in a field, or a CR or LF outside of quotes, is an
///   error.
/// * CR and LF before a field, and one line end after a record, are left out. An empty record has no fields.
/// * White space around a number, a bool or a timestamp is left out; strings stay as they are.
/// * Numbers are decimal; floats also hexadecimal, inf and nan. An integer that its type cannot hold is an error; a
///   float that is too large is inf. Floats are correctly rounded. A bool is true, false, 1 or 0.
struct CsvFields {
  std::vector<std::pair<std::string, CsvColumn>> columns;     ///< By name of the tensor.
  std::optional<std::string> field_delim = {};                ///< One character; left out: ",".
  std::optional<bool> use_quote_delim = {};                   ///< Left out: true. False: a quote is text.
  std::optional<std::string> na_value = {};                   ///< A field of this text is an empty one.
  std::optional<std::vector<std::int64_t>> select_cols = {};  ///< Fields of the columns; the rest is left out.
  std::optional<std::vector<std::string>> names = {};         ///< Of all fields; columns are found by name.
  std::optional<std::int64_t> max_field_bytes = {};           ///< A longer field is an error. Left out: 16 MiB.
};

}  // namespace forebay
