// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/row_streams.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "columns/take/row_copy.h"
#include "engine/blocks/copied_rows.h"

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

RowStreams::RowStreams(const RowSource& source, bool seeks, std::shared_ptr<RunShare> share, BlockTable& table,
                       std::function<void()> wake)
    : source_{source},
      seeks_{seeks},
      share_{std::move(share)},
      table_{table},
      wake_{std::move(wake)},
      collected_{table} {}

Reader::Stream RowStreams::open(std::uint32_t part, bool catching_up) {
  const Reader::Stream stream = open_.add({.part = part});
  if (!source_.ahead || catching_up) return stream;
  Open& at = open_[stream];
  if (auto opened = open_reader(at); !opened.ok())
    at.error = opened.error().at(Place{.file = source_.parts[part].name});
  return stream;
}

std::int64_t RowStreams::skip_unread(Reader::Stream stream, std::int64_t n) {
  Open& at = open_[stream];
  const RowPart& part = source_.parts[at.part];
  if (!part.open || at.ended || at.begun || at.error) return 0;
  at.ended = part.count && *part.count - at.rows <= n;
  if (!at.ended && !(seeks_ && part.seeks)) return 0;
  const std::int64_t count = at.ended ? *part.count - at.rows : n;
  at.reader.reset();  // it may be open ahead
  at.rows += count;
  return count;
}

Result<RowStreams::Rows> RowStreams::read(Reader::Stream stream, std::span<Handle> out, std::int64_t batch) {
  Open& at = open_[stream];
  while (!at.ended) {
    if (at.slot) {
      const std::size_t count = std::min(out.size(), at.count - at.next);
      for (std::size_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::uint32_t>(at.next + i);
        out[i] = {.block = *at.slot, .ordinal = row, .offset = row, .length = at.row_bytes};
      }
      at.next += count;
      advance(at);
      if (count > 0) return Rows{PartReader::Got::rows, count};
      leave_block(at, batch);
    }
    if (at.error) return *at.error;
    FOREBAY_TRY(const PartReader::Got got, next_block(at));
    if (got == PartReader::Got::nothing_yet) return Rows{got, 0};
  }
  return Rows{PartReader::Got::end, 0};
}

/// Asks the reader when the rows that it gave are used up; it never waits.
bool RowStreams::ready(Reader::Stream stream, std::int64_t batch) {
  Open& at = open_[stream];
  if (at.ended || at.error || (at.slot && at.next < at.count)) return true;
  if (at.slot) leave_block(at, batch);
  const auto got = next_block(at);
  if (!got.ok()) at.error = got.error();
  return !got.ok() || *got != PartReader::Got::nothing_yet;
}

/// An order that goes through a part again needs no more of the combination than before.
void RowStreams::advance(const Open& at) {
  std::deque<RunShare::Made>& made = share_->made;
  const std::int64_t rows = at.rows + static_cast<std::int64_t>(at.next);
  while (!made.empty() && made.front().before < rows) made.pop_front();
  if (!made.empty()) mixed_ = std::max(mixed_, made.front().mixed);
}

/// All rows of the block were given.
void RowStreams::leave_block(Open& at, std::int64_t batch) {
  at.rows += static_cast<std::int64_t>(at.next);
  table_.release_stream(*std::exchange(at.slot, std::nullopt), batch);
}

Result<PartReader::Got> RowStreams::next_block(Open& at) {
  at.begun = true;
  const auto here = [&](const Error& error) { return error.at(Place{.file = source_.parts[at.part].name}); };
  std::shared_ptr<const RowBlock> rows;
  const auto got = next_rows(at, rows);
  if (!got.ok()) return here(got.error());
  at.ended = *got == PartReader::Got::end;
  if (*got != PartReader::Got::rows) return *got;
  if (const auto checked = check_block(source_.schema, rows.get()); !checked.ok()) return here(checked.error());
  const std::int64_t elements = columns::bytes_of(source_.schema, *rows);
  const std::int64_t bytes = elements + bytes_beside(*rows);
  auto block = std::make_unique<Block>();
  block->file = at.part;
  block->first_record = at.rows;
  block->row_charge = share_->pool->charge(source_.charged ? 0 : bytes, MemoryUse::scan);
  block->buffer_bytes = static_cast<std::size_t>(bytes);
  block->row_schema = &source_.schema;
  at.row_bytes = static_cast<std::uint32_t>(std::clamp<std::int64_t>(elements / rows->rows, 1, UINT32_MAX));
  at.next = 0;
  at.count = static_cast<std::size_t>(rows->rows);
  block->rows = std::move(rows);
  at.slot = table_.add(std::move(block));
  return *got;
}

Result<PartReader::Got> RowStreams::next_rows(Open& at, std::shared_ptr<const RowBlock>& out) {
  const RowPart& part = source_.parts[at.part];
  if (part.rows) {
    do {
      if (at.given > part.more.size()) return PartReader::Got::end;
      out = at.given == 0 ? part.rows : part.more[at.given - 1];
      ++at.given;
    } while (out->rows == 0);
    return PartReader::Got::rows;
  }
  FOREBAY_DO(open_reader(at));
  return at.reader->read(out);
}

Result<void> RowStreams::open_reader(Open& at) {
  const RowPart& part = source_.parts[at.part];
  if (at.reader || part.rows) return {};
  if (part.open) {
    share_->made.clear();
    FOREBAY_TRY(at.reader, part.open({.wake = wake_, .epoch = epoch_, .first = at.rows, .share = share_}));
  }
  if (at.reader) return {};
  return Error{Code::config, Detail::invalid_argument, "the part has no reader; its `open` must return one"};
}

Result<bool> RowStreams::collect(std::uint32_t part, std::int64_t batch, const std::function<Result<void>()>& room) {
  std::array<Handle, 256> some;
  while (!collected_.has(part)) {
    FOREBAY_DO(room());
    if (!collecting_) collecting_ = open(part, false);
    FOREBAY_TRY(const Rows rows, read(*collecting_, some, batch));
    if (rows.got == PartReader::Got::nothing_yet) return false;
    collected_.add(part, std::span{some}.first(rows.count));
    if (rows.got != PartReader::Got::end) continue;
    close(*std::exchange(collecting_, std::nullopt), batch);
    collected_.end(part);
  }
  return true;
}

void RowStreams::close(Reader::Stream stream, std::int64_t batch) {
  const Open at = open_.take(stream);
  if (!at.slot) return;
  table_.release_rest(*at.slot, at.next, batch);
  table_.release_stream(*at.slot, batch);
}

}  // namespace forebay::engine
