// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/copied_rows.h"

#include <utility>
#include <vector>

#include <forebay/column.h>

#include "columns/take/row_copy.h"
#include "columns/take/strided_rows.h"
#include "engine/memory/ticket_columns.h"
#include "engine/read/block.h"

namespace forebay::engine {

namespace {

/// Copies rows of a known size, neighbours at once.
void copy_known(const RowColumn& from, std::int64_t all, std::span<const std::uint32_t> rows, Column& to) {
  const columns::StridedRows source{from, all, to.dtype, to.shape};
  std::byte* out = to.values.extend(rows.size() * source.row_bytes());
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end] == rows[first] + (end - first)) ++end;
    source.copy(rows[first], static_cast<std::int64_t>(end - first), out);
    out += (end - first) * source.row_bytes();
    first = end;
  }
  to.rows = static_cast<std::int64_t>(rows.size());
}

}  // namespace

CopiedRows copy_rows(const Schema& schema, const RowBlock& from, std::span<const std::uint32_t> rows) {
  const auto copies = std::make_shared<std::vector<Column>>();
  auto block = std::make_shared<RowBlock>();
  block->rows = static_cast<std::int64_t>(rows.size());
  CopiedRows out;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const ColumnSpec& spec = schema[static_cast<ColumnId>(i)];
    Column& to = copies->emplace_back(spec);
    if (to.fixed() && to.dtype != DType::string) {
      copy_known(from.columns[i], from.rows, rows, to);
    } else {
      for (const std::uint32_t row : rows) columns::append_row(from.columns[i], row, spec.shape, to);
    }
    out.bytes += owned_bytes(to);
  }
  for (const Column& column : *copies) block->columns.push_back(columns::view_of(column));
  block->owner = copies;
  out.bytes += bytes_beside(*block);
  out.rows = std::move(block);
  return out;
}

std::int64_t bytes_beside(const RowBlock& block) {
  constexpr std::size_t of_block = sizeof(Block) + sizeof(RowBlock) + 256;  // and the entry of the table
  return static_cast<std::int64_t>(of_block + block.columns.size() * (sizeof(RowColumn) + sizeof(Column)) +
                                   static_cast<std::size_t>(block.rows) / 8);
}

}  // namespace forebay::engine
