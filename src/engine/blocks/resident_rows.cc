// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/resident_rows.h"

#include <algorithm>
#include <utility>

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

ResidentRows::ResidentRows(const RowSource& source, std::shared_ptr<BufferPool> pool,
                           std::shared_ptr<Requests> requests, BlockTable& table)
    : source_{source},
      memory_{.pool = std::move(pool), .requests = std::move(requests)},
      table_{table},
      parts_(source.parts.size()) {
  for (const RowPart& part : source.parts) counts_.push_back(part.in_memory());
}

/// Enters the row blocks of a part into the table when it is used for the first time.
Result<ResidentRows::Part*> ResidentRows::opened(std::uint32_t number) {
  Part& part = parts_[number];
  if (!part.slots.empty()) return &part;
  const RowPart& given = source_.parts[number];
  std::shared_ptr<const RowBlock> rows = given.rows;
  if (given.map) {
    auto files = std::make_shared<PartInFiles>(memory_);
    FOREBAY_TRY(rows, files->open(given).at(Place{.file = given.name}));
    mapped_ += files->mapped_bytes();
    part.files = std::move(files);
  }
  std::int64_t bytes = columns::bytes_of(source_.schema, *rows);
  for (const auto& block : given.more) bytes += columns::bytes_of(source_.schema, *block);
  const std::int64_t each = bytes / std::max<std::int64_t>(1, counts_[number]);
  part.row_bytes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(each, 1, UINT32_MAX));
  enter(number, *rows, part);
  for (const auto& block : given.more) enter(number, *block, part);
  return &part;
}

/// Adds a row block to the part. One without rows is left out, unless it is the first.
void ResidentRows::enter(std::uint32_t number, const RowBlock& all, Part& part) {
  const std::int64_t before = part.slots.empty() ? 0 : part.firsts.back() + table_[part.slots.back()].rows->rows;
  for (std::int64_t first = 0; part.slots.empty() || first < all.rows; first += segment_rows) {
    auto block = std::make_unique<Block>();
    block->file = number;
    block->first_record = before + first;
    block->files = part.files;
    block->rows = std::make_shared<const RowBlock>(
        some_rows(source_.schema, all, first, std::min(segment_rows, all.rows - first)));
    part.slots.push_back(table_.add_permanent(std::move(block)));
    part.firsts.push_back(before + first);
  }
}

Result<std::size_t> ResidentRows::read(Reader::Stream stream, std::span<Handle> out) {
  Open& at = open_[stream];
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(out), rows(at.part) - at.next));
  if (count > 0) FOREBAY_DO(name(at.part, at.next, out.first(count)));
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

Result<void> ResidentRows::name(std::uint32_t number, std::int64_t first, std::span<Handle> out) {
  FOREBAY_TRY(Part* const part, opened(number));
  for (Handle& handle : out) handle = handle_of(*part, first++);
  return {};
}

Result<void> ResidentRows::name(std::span<const RecordName> names, std::span<Handle> out) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    FOREBAY_TRY(Part* const part, opened(names[i].file));
    out[i] = handle_of(*part, names[i].record);
  }
  return {};
}

Result<void> ResidentRows::unchanged() const {
  for (const Part& part : parts_) {
    if (part.files) FOREBAY_DO(part.files->unchanged());
  }
  return {};
}

void ResidentRows::limit_mapped(std::int64_t limit) {
  if (mapped_ <= limit || table_.file_bytes() <= limit) return;
  for (const Part& part : parts_) {
    if (part.files) part.files->forget();
  }
  table_.forget_file_bytes();
}

}  // namespace forebay::engine
