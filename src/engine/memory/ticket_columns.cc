// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/ticket_columns.h"

#include <algorithm>
#include <array>

namespace forebay::engine {

namespace {

std::array<const Storage*, 5> storages(const Column& column) {
  return {&column.values, &column.row_splits, &column.dims, &column.byte_splits, &column.bytes};
}

/// Bytes in use, without the first split of each list, which every ticket's column has.
std::int64_t content_bytes(const Column& column) {
  std::size_t bytes = 0;
  for (const Storage* storage : storages(column)) bytes += storage->size();
  for (const Storage* splits : {&column.row_splits, &column.byte_splits})
    bytes -= std::min(splits->size(), sizeof(std::int64_t));
  auto out = static_cast<std::int64_t>(bytes);
  for (const Column& part : column.parts) out += content_bytes(part);
  return out;
}

}  // namespace

ColumnBlock columns_of(const Schema& schema, const StopCheck* check) {
  ColumnBlock block;
  block.columns.reserve(schema.size());
  for (std::size_t id = 0; id < schema.size(); ++id) {
    block.columns.emplace_back(schema[static_cast<ColumnId>(id)]);
    block.columns.back().ask(check);
  }
  return block;
}

std::int64_t owned_bytes(const Column& column) {
  std::int64_t bytes = 0;
  for (const Storage* storage : storages(column)) bytes += static_cast<std::int64_t>(storage->capacity());
  for (const Column& part : column.parts) bytes += owned_bytes(part);
  return bytes;
}

std::unique_ptr<TicketColumns> ColumnPool::take() {
  auto columns = free_.take();
  if (columns) return columns;
  columns = std::make_unique<TicketColumns>();
  columns->block = columns_of(program_->schema, pool_.get());
  return columns;
}

std::int64_t ColumnPool::account(TicketColumns& columns) const {
  std::int64_t owned = 0, content = 0;
  for (const ColumnId id : growing_) {
    owned += owned_bytes(columns.block[id]);
    content += content_bytes(columns.block[id]);
  }
  columns.charge.set(*pool_, owned);
  return content;
}

void ColumnPool::give(std::unique_ptr<TicketColumns> columns) {
  if (!pool_->over(columns->charge.bytes())) free_.give(std::move(columns));
}

}  // namespace forebay::engine
