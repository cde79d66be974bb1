// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/resident_rows.h"

#include <algorithm>

#include "columns/take/row_copy.h"

namespace forebay::engine {

namespace {

/// A view of some rows of a block.
RowBlock some_rows(const Schema& schema, const RowBlock& all, std::int64_t first, std::int64_t count) {
  RowBlock out{.rows = count, .columns = all.columns, .owner = all.owner};
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    RowColumn& column = out.columns[i];
    const ColumnSpec& spec = schema[static_cast<ColumnId>(i)];
    if (column.row_splits != nullptr) {
      column.row_splits += first;
      column.dims += first * static_cast<std::int64_t>(spec.shape.unknown());
    } else if (spec.dtype == DType::string) {
      column.byte_splits += first * spec.shape.count();
    } else {
      column.data += first * column.row_stride;
    }
  }
  return out;
}

}  // namespace

ResidentRows::ResidentRows(const RowSource& source, BlockTable& table)
    : source_{source}, table_{table}, parts_(source.parts.size()) {
  for (const RowPart& part : source.parts) counts_.push_back(part.in_memory());
}

/// Enters the row blocks of a part into the table when it is used for the first time.
const ResidentRows::Part& ResidentRows::opened(std::uint32_t number) {
  Part& part = parts_[number];
  if (!part.slots.empty()) return part;
  const RowPart& rows = source_.parts[number];
  std::int64_t bytes = columns::bytes_of(source_.schema, *rows.rows);
  for (const auto& block : rows.more) bytes += columns::bytes_of(source_.schema, *block);
  const std::int64_t each = bytes / std::max<std::int64_t>(1, counts_[number]);
  part.row_bytes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(each, 1, UINT32_MAX));
  enter(number, *rows.rows, part);
  for (const auto& block : rows.more) enter(number, *block, part);
  return part;
}

/// Adds a row block to the part. One without rows is left out, unless it is the first.
void ResidentRows::enter(std::uint32_t number, const RowBlock& all, Part& part) {
  const std::int64_t before = part.slots.empty() ? 0 : part.firsts.back() + table_[part.slots.back()].rows->rows;
  for (std::int64_t first = 0; part.slots.empty() || first < all.rows; first += segment_rows) {
    auto block = std::make_unique<Block>();
    block->file = number;
    block->first_record = before + first;
    block->rows = std::make_shared<const RowBlock>(
        some_rows(source_.schema, all, first, std::min(segment_rows, all.rows - first)));
    part.slots.push_back(table_.add_permanent(std::move(block)));
    part.firsts.push_back(before + first);
  }
}

std::size_t ResidentRows::read(Reader::Stream stream, std::span<Handle> out) {
  Open& at = open_[stream];
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(out), rows(at.part) - at.next));
  name(at.part, at.next, out.first(count));
  at.next += static_cast<std::int64_t>(count);
  return count;
}

std::int64_t ResidentRows::skip(Reader::Stream stream, std::int64_t n) {
  Open& at = open_[stream];
  const std::int64_t count = std::min(n, rows(at.part) - at.next);
  at.next += count;
  return count;
}

double ResidentRows::fraction(Reader::Stream stream) const {
  const Open& at = open_[stream];
  return rows(at.part) == 0 ? 1 : static_cast<double>(at.next) / static_cast<double>(rows(at.part));
}

void ResidentRows::name(std::uint32_t number, std::int64_t first, std::span<Handle> out) {
  const Part& part = opened(number);
  for (Handle& handle : out) handle = handle_of(part, first++);
}

void ResidentRows::name(std::span<const RecordName> names, std::span<Handle> out) {
  for (std::size_t i = 0; i < names.size(); ++i) out[i] = handle_of(opened(names[i].file), names[i].record);
}

}  // namespace forebay::engine
