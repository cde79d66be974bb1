// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/take/take_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/tickets/finish/finish.h"

namespace forebay::engine {

namespace {

constexpr auto unused = std::numeric_limits<std::uint32_t>::max();

std::int64_t output_of(const Program& program, ColumnId column) {
  const auto of = [&](const Output& output) { return output.id == column; };
  const auto found = std::ranges::find_if(program.batched, of);
  return found == program.batched.end() ? -1 : found - program.batched.begin();
}

/// The padding value of a column of rows; empty is 0, false or "".
std::vector<std::byte> filler_of_output(const Program& program, std::int64_t output) {
  return output < 0 ? std::vector<std::byte>{} : filler_of(program.batched[static_cast<std::size_t>(output)]);
}

/// Copies the spans of the ticket along one axis, their rows counted from the ticket's first one.
void choose_spans(const Ticket& ticket, const std::vector<columns::PlacedSpan>& all, AxisSpans& out) {
  const auto before = [](const columns::PlacedSpan& span, std::int64_t row) { return span.row < row; };
  const auto begin = std::lower_bound(all.begin(), all.end(), ticket.first_row, before);
  const auto end = std::lower_bound(begin, all.end(), ticket.first_row + ticket.rows, before);
  auto first = begin;
  auto last = end;
  if (ticket.spans != Ticket::all_spans) {
    first += std::min<std::ptrdiff_t>(end - begin, ticket.first_span);
    last = first + std::min<std::ptrdiff_t>(end - first, ticket.spans);
  }
  const auto from = first == begin ? first : first - 1;
  const auto to = last == end ? last : last + 1;
  out.spans.assign(from, to);
  out.first = static_cast<std::size_t>(from - all.begin());
  out.range = {static_cast<std::size_t>(first - from), static_cast<std::size_t>(last - from)};
  out.open.clear();
  for (std::size_t i = 0; i < out.spans.size(); ++i) {
    out.spans[i].row -= ticket.first_row;
    if (out.spans[i].length == RowSpans::to_the_end) out.open.push_back(i);
  }
}

/// Calls `visit` with every span of the ticket, which may change it.
template <class Visit>
void each_span(TicketSpans& spans, Visit visit) {
  for (AxisSpans& axis : spans.axes) {
    for (std::size_t i = axis.range.first; i < axis.range.last; ++i) visit(axis.spans[i]);
  }
  for (columns::PlacedSpan& span : spans.whole) visit(span);
}

}  // namespace

TakeRows::TakeRows(const Program& program) : program_{program}, sizes_{program} {
  const Taking& taking = *program.taking;
  for (const TakenColumn& cut : taking.cut) {
    const std::int64_t output = output_of(program, cut.to);
    cut_.push_back({cut, filler_of_output(program, output), output});
    taken_from_.push_back(cut.from);
  }
  for (const GeneratedColumn& made : taking.generated) {
    const std::int64_t output = output_of(program, made.column);
    made_.push_back({made, filler_of_output(program, output), output});
    if (made_.back().filler.empty()) made_.back().filler.resize(sizeof(std::int32_t));
  }
  taken_from_.insert(taken_from_.end(), taking.whole.begin(), taking.whole.end());
  element_columns_ = program.decoded;
  for (const PlacedStep& step : taking.element_steps)
    element_columns_.insert(element_columns_.end(), step.makes.begin(), step.makes.end());
  const auto has_parts = [&](ColumnId id) { return !Column{program.schema[id]}.parts.empty(); };
  early_ = taking.early && std::ranges::none_of(taken_from_, has_parts);  // row blocks have no parts
}

std::vector<ColumnId> TakeRows::columns() const {
  std::vector<ColumnId> out;
  for (const Cut& cut : cut_) out.push_back(cut.column.to);
  out.insert(out.end(), program_.taking->whole.begin(), program_.taking->whole.end());
  for (const Made& made : made_) out.push_back(made.column.column);
  return out;
}

void TakeRows::choose(const Ticket& ticket, TakeMemory& memory) const {
  const RowSpans& taken = ticket.job->layout.taken;
  TicketSpans& spans = memory.in_columns;
  spans.axes.resize(std::max(program_.taking->axes, taken.spans.size()));
  static const std::vector<columns::PlacedSpan> none;
  for (std::size_t axis = 0; axis < spans.axes.size(); ++axis)
    choose_spans(ticket, axis < taken.spans.size() ? taken.spans[axis] : none, spans.axes[axis]);
  spans.whole.clear();
  const bool makes_whole = !program_.taking->whole.empty() && ticket.begins_row();
  for (std::int64_t row = 0; row < ticket.rows && makes_whole; ++row) {
    const std::int64_t element = taken.whole[static_cast<std::size_t>(ticket.first_row + row)];
    if (element == RowSpans::no_element) continue;
    spans.whole.push_back({.element = static_cast<std::uint32_t>(element), .row = row});
  }
  number_elements(ticket, memory);
  memory.decoded = false;
  if (program_.source.rows) choose_copied(memory);
  if (early_) choose_decoded(memory);
}

/// Lists the elements of the ticket, and lets the spans count in the list.
void TakeRows::number_elements(const Ticket& ticket, TakeMemory& memory) const {
  const BatchLayout& batch = ticket.job->layout;
  std::uint32_t first = unused, last = 0;
  each_span(memory.in_columns, [&](const columns::PlacedSpan& span) {
    first = std::min(first, span.element);
    last = std::max(last, span.element);
  });
  Job& elements = memory.elements;
  BatchLayout& layout = elements.layout;
  layout.clear();
  layout.number = batch.number;
  layout.blocks = batch.blocks;
  elements.copied = ticket.job->copied;
  memory.ticket.job = &elements;
  memory.numbers.assign(first == unused ? 0 : last - first + 1, unused);
  each_span(memory.in_columns, [&](const columns::PlacedSpan& span) { memory.numbers[span.element - first] = 0; });
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < memory.numbers.size(); ++i) {
    if (memory.numbers[i] == unused) continue;
    memory.numbers[i] = count++;
    layout.handles.push_back(batch.handles[first + i]);
    if (!batch.payloads.empty()) layout.payloads.push_back(batch.payloads[first + i]);
    if (!batch.row_blocks.empty()) layout.row_blocks.push_back(batch.row_blocks[first + i]);
  }
  const auto before = [](const Unmapped& record, std::int64_t element) { return record.row < element; };
  const auto from = std::lower_bound(batch.unmapped.begin(), batch.unmapped.end(), std::int64_t{first}, before);
  for (auto at = from; at != batch.unmapped.end() && at->row - first < std::ssize(memory.numbers); ++at) {
    const std::uint32_t number = memory.numbers[static_cast<std::size_t>(at->row - first)];
    if (number == unused) continue;
    layout.unmapped.push_back(*at);
    layout.unmapped.back().row = number;
  }
  each_span(memory.in_columns, [&](columns::PlacedSpan& span) { span.element = memory.numbers[span.element - first]; });
  layout.rows = memory.ticket.rows = count;
}

/// Finds the columns of row blocks that are copied first, and lets the spans of the others count in the blocks.
void TakeRows::choose_copied(TakeMemory& memory) const {
  memory.copied.clear();
  if (!program_.taking->element_steps.empty()) {
    memory.copied = program_.decoded;
    return;
  }
  choose_blocks(memory);
}

/// Lets the spans count in the decoded blocks, if the records of all elements are decoded.
void TakeRows::choose_decoded(TakeMemory& memory) const {
  BatchLayout& layout = memory.elements.layout;
  const UsedBlock* block = nullptr;
  for (std::size_t i = 0; i < layout.handles.size(); ++i) {
    if (block == nullptr || block->slot != layout.handles[i].block)
      block = &layout.block_of(static_cast<std::int64_t>(i));
    if (block->decoded == nullptr) return layout.row_blocks.clear();
    layout.row_blocks.push_back(block->decoded);
  }
  memory.decoded = true;
  choose_blocks(memory);
}

/// Finds the blocks of the elements, and the columns whose spans are taken straight from them.
void TakeRows::choose_blocks(TakeMemory& memory) const {
  const BatchLayout& layout = memory.elements.layout;
  memory.blocks.clear();
  memory.block_of.clear();
  for (const RowBlock* const block : layout.row_blocks) {
    if (memory.blocks.empty() || memory.blocks[memory.block_of.back()] != block) {
      const auto found = std::ranges::find(memory.blocks, block);
      memory.block_of.push_back(static_cast<std::uint32_t>(found - memory.blocks.begin()));
      if (found == memory.blocks.end()) memory.blocks.push_back(block);
    } else {
      memory.block_of.push_back(memory.block_of.back());
    }
  }
  for (const ColumnId id : taken_from_) {
    const ColumnSpec& spec = program_.schema[id];
    const auto is_plain = [&](const RowBlock* block) {
      return columns::plain(block->columns[static_cast<std::size_t>(id)], spec.dtype, spec.shape);
    };
    if (!std::ranges::all_of(memory.blocks, is_plain) && std::ranges::find(memory.copied, id) == memory.copied.end())
      memory.copied.push_back(id);
  }
  if (memory.copied.empty()) {
    std::swap(memory.in_blocks, memory.in_columns);
  } else {
    memory.in_blocks = memory.in_columns;
  }
  each_span(memory.in_blocks, [&](columns::PlacedSpan& span) {
    span.source = memory.block_of[span.element];
    span.element = memory.row_in_block(span.element);
  });
}

bool TakeRows::needs_columns(const TakeMemory& memory) const {
  return !memory.elements.layout.handles.empty() && ((program_.decoder && !memory.decoded) || !memory.copied.empty());
}

std::int64_t TakeRows::row_of(const Ticket& ticket, const TakeMemory& memory, std::int64_t element) {
  std::int64_t row = ticket.rows - 1;
  const auto look = [&](const columns::PlacedSpan& span) {
    if (span.element == element) row = std::min(row, span.row);
  };
  for (const AxisSpans& axis : memory.in_columns.axes)
    std::for_each(axis.spans.begin() + static_cast<std::ptrdiff_t>(axis.range.first),
                  axis.spans.begin() + static_cast<std::ptrdiff_t>(axis.range.last), look);
  std::ranges::for_each(memory.in_columns.whole, look);
  return ticket.first_row + row;
}

}  // namespace forebay::engine
