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
void remove(std::vector<Item>& items, std::span<const std::int64_t> rows) {
  if (items.empty()) return;
  std::size_t next = 0, bad = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (bad < rows.size() && rows[bad] == static_cast<std::int64_t>(i)) {
      ++bad;
    } else {
      items[next++] = items[i];
    }
  }
  items.resize(next);
}

/// The same for rows of `size` bytes.
void remove_bytes(std::byte* rows, std::size_t size, std::size_t count, std::span<const std::int64_t> bad) {
  auto to = static_cast<std::size_t>(bad.front());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto from = static_cast<std::size_t>(bad[i]) + 1;
    const std::size_t end = i + 1 < bad.size() ? static_cast<std::size_t>(bad[i + 1]) : count;
    std::memmove(rows + to * size, rows + from * size, (end - from) * size);
    to += end - from;
  }
}

/// The element that a fault is about. Of a combination: the one of the branch that has the fault, or of the first
/// branch that has the row.
struct BadElement {
  const Source& source;
  const BatchLayout& layout;
  std::int64_t row;        // of `layout`
  std::size_t first_file;  // of `source`, in the list of all files
};

BadElement bad_element(const Job& job, const Program& program, std::int64_t row, const RowFault& fault) {
  for (std::size_t i = fault.branch.value_or(0); i < program.branches.size(); ++i) {
    const BatchLayout& layout = job.branches[i]->layout;
    const auto found = std::ranges::lower_bound(layout.row_of, row);
    if (found != layout.row_of.end() && *found == row)
      return {program.branches[i].source, layout, found - layout.row_of.begin(), first_file(program, i)};
  }
  return {program.source, job.layout, row, 0};
}

void collect(Ticket& ticket, const Program& program, std::vector<SkippedRow>& out) {
  std::ranges::sort(ticket.faults, {}, &RowFault::row);
  for (RowFault& fault : ticket.faults) {
    const std::int64_t row = ticket.first_row + fault.row;
    const auto& [source, layout, element, first] = bad_element(*ticket.job, program, row, fault);
    const std::int64_t record = layout.record_of(element);
    const std::int64_t offset = source.rows ? record : source.format->record_offset(layout.payload_offset(element));
    const auto at = source.locate(layout.block_of(element).file, record, offset);
    out.push_back({.row = row,
                   .file = static_cast<std::uint32_t>(first + at.file),
                   .record = at.record,
                   .offset = at.offset,
                   .bytes = layout.handles[static_cast<std::size_t>(element)].length,
                   .error = std::move(fault.error)});
  }
}

/// Removes the bad rows from what says where the rows of a batch, or of a branch of it, come from.
void remove_from(BatchLayout& layout, std::span<const std::int64_t> bad) {
  remove(layout.handles, bad);
  remove(layout.occurrences, bad);
  remove(layout.identities, bad);
  remove(layout.payloads, bad);
  remove(layout.row_blocks, bad);
  remove(layout.numbers, bad);
}

void remove_from_branch(BatchLayout& branch, std::span<const std::int64_t> bad) {
  std::vector<std::int64_t> own;  // in the rows of the branch
  std::size_t before = 0;         // bad rows of the batch before a row
  for (std::size_t i = 0; i < branch.row_of.size(); ++i) {
    std::int64_t& row = branch.row_of[i];
    while (before < bad.size() && bad[before] < row) ++before;
    if (before < bad.size() && bad[before] == row) own.push_back(static_cast<std::int64_t>(i));
    row -= static_cast<std::int64_t>(before);
  }
  remove(branch.row_of, own);
  remove_from(branch, own);
  branch.rows = std::ssize(branch.handles);
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
  std::vector<std::int64_t> bad;
  for (const SkippedRow& row : job.skipped) bad.push_back(row.row);
  BatchLayout& layout = job.layout;
  for (std::size_t i = 0; i < row_bytes.size(); ++i) {
    if (row_bytes[i] > 0) remove_bytes(job.fixed_outputs[i], row_bytes[i], layout.handles.size(), bad);
  }
  remove_from(layout, bad);
  for (const auto& branch : job.branches) remove_from_branch(branch->layout, bad);
}

}  // namespace forebay::engine
