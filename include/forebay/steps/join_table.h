// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/decoders/csv.h>
#include <forebay/field_types.h>

namespace forebay {

/// Which part of a string is the key in the table.
enum class MatchKey : std::uint8_t {
  exact,  ///< All of it.
  path,   ///< All of it, or what follows one of its slashes; the longest such part that is in the table.
  stem,   ///< What follows its last slash, without the last dot and what follows that.
};
template <>
struct EnumNames<MatchKey> {
  static constexpr std::array<std::string_view, 3> names{"exact", "path", "stem"};
};

/// What a row gets whose key is not in the table.
enum class MissingKey : std::uint8_t { error, defaults };
template <>
struct EnumNames<MissingKey> {
  static constexpr std::array<std::string_view, 2> names{"error", "default"};
};

/// Adds columns of a table to the rows: those of the line with the row's key. The table is a CSV file with a header
/// row, read by the rules of the decoder `csv`; its content is part of the plan's hash. A key that stands there twice
/// is an error.
struct JoinTable {
  TensorName tensor;                                       ///< The keys: string, one a row.
  std::optional<DataFile> file = {};                       ///< At most 64 MiB.
  std::optional<std::string> text = {};                    ///< The content of the table, instead of a file.
  std::string key;                                         ///< Name of the column of keys.
  std::vector<std::pair<std::string, CsvColumn>> columns;  ///< By name in the header: the new tensors, one value a row.
  MatchKey match = MatchKey::exact;
  MissingKey missing = MissingKey::error;  ///< error: a fault of the row.
  std::string field_delim = ",";           ///< One character.
};

}  // namespace forebay
