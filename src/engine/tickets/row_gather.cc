// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/row_gather.h"

#include <optional>
#include <span>

#include "columns/take/row_copy.h"
#include "columns/take/strided_rows.h"

namespace forebay::engine {

namespace {

constexpr std::size_t rows_ahead = 16;  // fetched before their turn

/// The rows of a ticket: handles and the block of each. A handle's offset is the place of its row in the block.
struct TicketRows {
  std::span<const Handle> handles;
  std::span<const RowBlock* const> blocks;

  [[nodiscard]] std::size_t size() const { return handles.size(); }
  [[nodiscard]] const RowColumn& column(std::size_t row, std::size_t number) const {
    return blocks[row]->columns[number];
  }
  /// How many rows from `row` on are neighbours in one block.
  [[nodiscard]] std::size_t neighbours(std::size_t row) const {
    std::size_t end = row + 1;
    while (end < size() && blocks[end] == blocks[row] &&
           handles[end].offset == handles[row].offset + static_cast<std::uint32_t>(end - row))
      ++end;
    return end - row;
  }
};

void gather_fixed(const TicketRows& rows, std::size_t number, const Column& to, std::byte* out,
                  const StopCheck& check) {
  std::size_t since_look = 0;
  const RowBlock* block = nullptr;
  std::optional<columns::StridedRows> from;  // of `block`
  for (std::size_t row = 0; row < rows.size();) {
    if (rows.blocks[row] != block) {
      block = rows.blocks[row];
      from.emplace(block->columns[number], block->rows, to.dtype, to.shape);
    }
    if (row + rows_ahead < rows.size()) {
      const RowColumn& later = rows.column(row + rows_ahead, number);
      __builtin_prefetch(later.data + std::int64_t{rows.handles[row + rows_ahead].offset} * later.row_stride);
    }
    const std::size_t count = rows.neighbours(row);
    from->copy(rows.handles[row].offset, static_cast<std::int64_t>(count), out);
    out += count * from->row_bytes();
    row += count;
    since_look += count * from->row_bytes();
    if (since_look < StopCheck::interval) continue;
    check.look();
    since_look = 0;
  }
}

void gather_growing(const TicketRows& rows, std::size_t number, Column& to, const StopCheck& check) {
  constexpr std::size_t rows_between_looks = 1024;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row % rows_between_looks == 0) check.look();
    columns::append_row(rows.column(row, number), rows.handles[row].offset, to.shape, to);
  }
}

}  // namespace

RowGather::RowGather(const Program& program) : columns_{program.decoded} {}

void RowGather::run(const BatchLayout& layout, std::int64_t first, std::int64_t rows, std::span<const ColumnId> columns,
                    ColumnBlock& block, const StopCheck& check) const {
  const auto from = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(rows);
  const TicketRows all{std::span{layout.handles}.subspan(from, count),
                       std::span{layout.row_blocks}.subspan(from, count)};
  for (const ColumnId id : columns) {
    Column& to = block[id];
    if (to.fixed() && to.dtype != DType::string) {
      gather_fixed(all, static_cast<std::size_t>(id), to, to.values.data(), check);
    } else {
      gather_growing(all, static_cast<std::size_t>(id), to, check);
    }
  }
}

}  // namespace forebay::engine
