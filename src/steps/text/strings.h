// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <forebay/plugin.h>

/// Helpers of the steps over strings.
namespace forebay::steps {

[[nodiscard]] inline std::string_view text_at(const Column& column, std::int64_t element) {
  const auto bytes = column.string(element);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The rows of a text step: the column that it reads and the one that it makes.
struct TextColumns {
  ColumnId from, to;
};

/// Finds the strings that a step reads, with `rank` axes (empty: any shape), and adds the column `made` under the name
/// `out`, or under that of the strings.
[[nodiscard]] Result<TextColumns> bind_text(const std::string& tensor, const std::optional<NewTensorName>& out,
                                            std::optional<std::size_t> rank, ColumnSpec made, Schema& schema);

/// The element range of a row of a string column.
struct ElementRange {
  std::int64_t begin = 0, end = 0;
};
[[nodiscard]] inline ElementRange elements_of(const Column& column, std::int64_t row) {
  if (column.fixed()) return {row * column.shape.count(), (row + 1) * column.shape.count()};
  const auto* const splits = column.row_splits.as<std::int64_t>();
  return {splits[row], splits[row + 1]};
}

}  // namespace forebay::steps
