// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// How a column is delivered whose values Arrow stores as a dictionary.
enum class Dictionaries : std::uint8_t {
  automatic,  ///< codes for strings of tables in memory, values otherwise.
  codes,      ///< The number of each value in the list of the column's values (ColumnSpec::categories), as int32.
  values,     ///< The values themselves.
};
template <>
struct EnumNames<Dictionaries> {
  static constexpr std::array<std::string_view, 3> names{"auto", "codes", "values"};
};

/// Reads a table of the program in the memory layout of Apache Arrow: rows that come ready, so the document has no
/// `decode`. Columns of numbers are read where they lie. docs/arrow.md has the types.
struct Arrow {
  BindingName bind;                       ///< The object is a table, a stream of record batches, or files of them.
  std::vector<std::string> columns = {};  ///< Of the table; others are not read. Empty: all.
  /// By tensor, the value of its nulls; for a column of lists, of the nulls in the lists (a list that is null has no
  /// items). A null of another tensor is an error.
  std::vector<std::pair<std::string, Json>> nulls = {};
  /// Tensors beside which a boolean one, `present(x)`, says which rows are no nulls. Their nulls have the value of
  /// `nulls`, else 0, false or "".
  std::vector<std::string> present = {};
  Dictionaries dictionaries = Dictionaries::automatic;
};

}  // namespace forebay
