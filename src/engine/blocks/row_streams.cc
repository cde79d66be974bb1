// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/row_streams.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "columns/take/row_copy.h"

namespace forebay::engine {

namespace {

/// Fails when a reader gave a block that handles cannot name, or whose columns are not those of the source.
Result<void> check_block(const Schema& schema, const RowBlock* block) {
  if (block == nullptr) return Error{Code::internal, Detail::invalid_argument, "the reader gave no block"};
  if (block->rows >= 1 && block->rows <= UINT32_MAX && block->columns.size() == schema.size()) return {};
  return Error{Code::internal, Detail::invalid_argument,
               fmt::format("the reader gave a block of {} rows in {} columns, expected 1 to {} rows in {} columns",
                           block->rows, block->columns.size(), UINT32_MAX, schema.size())};
}

}  // namespace

RowStreams::RowStreams(const RowSource& source, std::shared_ptr<BufferPool> pool, BlockTable& table,
                       std::function<void()> wake)
    : source_{source}, pool_{std::move(pool)}, table_{table}, wake_{std::move(wake)} {}

Result<RowStreams::Rows> RowStreams::read(Reader::Stream stream, std::span<Handle> out, std::int64_t batch) {
  Open& at = open_[stream];
  while (!at.ended) {
    if (at.slot) {
      const std::size_t count = std::min(out.size(), table_[*at.slot].count() - at.next);
      for (std::size_t i = 0; i < count; ++i)
        out[i] = {*at.slot, static_cast<std::uint32_t>(at.next + i), 0, at.row_bytes};
      at.next += count;
      if (count > 0) return Rows{PartReader::Got::rows, count};
      at.rows += static_cast<std::int64_t>(at.next);
      table_.release_stream(*std::exchange(at.slot, std::nullopt), batch);
    }
    auto got = next_block(at);
    if (!got.ok()) return got.error().at(Place{.file = source_.parts[at.part].name});
    if (*got == PartReader::Got::nothing_yet) return Rows{*got, 0};
    at.ended = *got == PartReader::Got::end;
  }
  return Rows{PartReader::Got::end, 0};
}

Result<PartReader::Got> RowStreams::next_block(Open& at) {
  std::shared_ptr<const RowBlock> rows;
  FOREBAY_TRY(const PartReader::Got got, next_rows(at, rows));
  if (got != PartReader::Got::rows) return got;
  FOREBAY_DO(check_block(source_.schema, rows.get()));
  const std::int64_t bytes = columns::bytes_of(source_.schema, *rows);
  auto block = std::make_unique<Block>();
  block->file = at.part;
  block->first_record = at.rows;
  block->row_charge = pool_->charge(bytes);
  block->buffer_bytes = static_cast<std::size_t>(bytes);
  at.row_bytes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(bytes / rows->rows, 1, UINT32_MAX));
  at.next = 0;
  block->rows = std::move(rows);
  at.slot = table_.add(std::move(block));
  return got;
}

Result<PartReader::Got> RowStreams::next_rows(Open& at, std::shared_ptr<const RowBlock>& out) {
  const RowPart& part = source_.parts[at.part];
  if (part.rows) {
    if (std::exchange(at.given, true) || part.rows->rows == 0) return PartReader::Got::end;
    out = part.rows;
    return PartReader::Got::rows;
  }
  if (!at.reader && part.open) {
    FOREBAY_TRY(at.reader, part.open({.wake = wake_}));
  }
  if (at.reader) return at.reader->read(out);
  return Error{Code::config, Detail::invalid_argument, "the part has no reader; its `open` must return one"};
}

void RowStreams::close(Reader::Stream stream, std::int64_t batch) {
  const Open at = open_.close(stream);
  if (!at.slot) return;
  table_.release_rest(*at.slot, at.next, batch);
  table_.release_stream(*at.slot, batch);
}

}  // namespace forebay::engine
