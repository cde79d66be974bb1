// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/bad_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "columns/take/column_rows.h"

namespace forebay::engine {

namespace {

/// Removes the items with these numbers, which are in ascending order.
template <class Item>
void remove(std::vector<Item>& items, std::span<const SkippedRow> rows) {
  if (items.empty()) return;
  std::size_t next = 0, bad = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (bad < rows.size() && rows[bad].row == static_cast<std::int64_t>(i)) {
      ++bad;
    } else {
      items[next++] = items[i];
    }
  }
  items.resize(next);
}

/// The same for rows of `size` bytes.
void remove_bytes(std::byte* rows, std::size_t size, std::size_t count, std::span<const SkippedRow> bad) {
  auto to = static_cast<std::size_t>(bad.front().row);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto from = static_cast<std::size_t>(bad[i].row) + 1;
    const std::size_t end = i + 1 < bad.size() ? static_cast<std::size_t>(bad[i + 1].row) : count;
    std::memmove(rows + to * size, rows + from * size, (end - from) * size);
    to += end - from;
  }
}

void collect(Ticket& ticket, const Program& program, std::vector<SkippedRow>& out) {
  const BatchLayout& layout = ticket.job->layout;
  std::ranges::sort(ticket.faults, {}, &RowFault::row);
  for (RowFault& fault : ticket.faults) {
    const std::int64_t row = ticket.first_row + fault.row;
    const std::int64_t record = layout.record_of(row);
    const std::int64_t offset =
        program.source.rows ? record : program.source.format->record_offset(layout.payload_offset(row));
    const auto at = program.source.locate(layout.block_of(row).file, record, offset);
    out.push_back({.row = row,
                   .file = static_cast<std::uint32_t>(at.file),
                   .record = at.record,
                   .offset = at.offset,
                   .bytes = layout.handles[static_cast<std::size_t>(row)].length,
                   .error = std::move(fault.error)});
  }
}

}  // namespace

void take_out_bad_rows(Job& job, const Program& program, std::span<const std::size_t> row_bytes) {
  std::int64_t before = 0;  // bad rows of the tickets before
  for (std::size_t i = 0; i < job.cut; ++i) {
    Ticket& ticket = *job.tickets[i];
    collect(ticket, program, job.skipped);
    std::vector<std::int64_t> rows;
    for (const RowFault& fault : ticket.faults) rows.push_back(fault.row);
    ticket.faults.clear();
    ticket.bad.clear();
    for (std::size_t output = 0; output < row_bytes.size() && !rows.empty(); ++output) {
      if (row_bytes[output] == 0) columns::remove_rows(ticket.columns->block[program.batched[output].id], rows);
    }
    ticket.first_row -= std::exchange(before, before + std::ssize(rows));
    ticket.rows -= std::ssize(rows);
  }
  if (job.skipped.empty()) return;
  BatchLayout& layout = job.layout;
  for (std::size_t i = 0; i < row_bytes.size(); ++i) {
    if (row_bytes[i] > 0) remove_bytes(job.fixed_outputs[i], row_bytes[i], layout.handles.size(), job.skipped);
  }
  remove(layout.handles, job.skipped);
  remove(layout.occurrences, job.skipped);
  remove(layout.payloads, job.skipped);
  remove(layout.row_blocks, job.skipped);
}

}  // namespace forebay::engine
