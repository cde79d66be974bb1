// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/take_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "columns/fill.h"
#include "columns/take/segments.h"
#include "engine/tickets/finish.h"

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

/// Whether the ticket makes the columns of its rows that are not cut. Of tickets that share a row, the first one does.
bool makes_whole_columns(const Ticket& ticket) { return ticket.spans == Ticket::all_spans || ticket.first_span == 0; }

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
  for (std::int64_t row = 0; row < ticket.rows && makes_whole_columns(ticket); ++row) {
    const std::int64_t element = taken.whole[static_cast<std::size_t>(ticket.first_row + row)];
    if (element == RowSpans::no_element) continue;
    spans.whole.push_back({.element = static_cast<std::uint32_t>(element), .row = row});
  }
  number_elements(ticket, memory);
  if (program_.source.rows) choose_blocks(memory);
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
  elements.records = ticket.job->records;
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

/// Finds the columns whose spans are taken straight from row blocks.
void TakeRows::choose_blocks(TakeMemory& memory) const {
  const BatchLayout& layout = memory.elements.layout;
  memory.copied.clear();
  if (!program_.taking->element_steps.empty()) {
    memory.copied = program_.decoded;
    return;
  }
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
    span.element = layout.handles[span.element].ordinal;
  });
}

bool TakeRows::needs_columns(const TakeMemory& memory) const {
  return !memory.elements.layout.handles.empty() && (program_.decoder || !memory.copied.empty());
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

/// Fills the columns of one ticket.
class TakeRows::Filling {
 public:
  Filling(const TakeRows& rows, Ticket& ticket, TakeMemory& memory, const StopCheck& check)
      : rows_{rows}, program_{rows.program_}, ticket_{ticket}, memory_{memory}, check_{check} {}

  std::optional<TakeFault> cut(const Cut& cut, bool sets_lengths) {
    AxisSpans& axis = spans_of(cut.column.from).axes[cut.column.axis];
    find(cut.column.from);
    if (auto fault = end_open_spans(axis, cut.column, sets_lengths)) return fault;
    const columns::Taking taking{.sources = memory_.sources,
                                 .spans = axis.spans,
                                 .filler = cut.filler,
                                 .unfold = program_.taking->unfold,
                                 .check = &check_};
    const auto done = take(taking, axis.range, cut.column.to, cut.output, column(cut.column.to));
    if (done.ok()) return std::nullopt;
    return fault_of(done.error(), taking, axis.range, cut.column.to);
  }

  std::optional<TakeFault> whole(ColumnId id) {
    find(id);
    Column& to = column(id);
    if (auto fault = copy_whole(id, spans_of(id).whole, to)) return fault;
    for (std::size_t part = 0; part < to.parts.size(); ++part) {
      for (columns::Elements& source : memory_.sources)
        source = columns::Elements::of(memory_.ticket.columns->block[id].parts[part]);
      if (auto fault = copy_whole(id, spans_of(id).whole, to.parts[part])) return fault;
    }
    return std::nullopt;
  }

  void generate(const Made& made) {
    const RowSpans& taken = ticket_.job->layout.taken;
    Column& to = column(made.column.column);
    for (std::int64_t i = 0; i < ticket_.rows; ++i) {
      const std::int64_t row = ticket_.first_row + i;
      const std::span<const columns::PlacedSpan> spans = taken.of_row(made.column.axis, row);
      if (made.column.kind == Generated::window) {
        to.values.as<std::int64_t>()[i] = taken.windows.empty() ? -1 : taken.windows[static_cast<std::size_t>(row)];
      } else if (made.column.kind == Generated::start) {
        to.values.as<std::int64_t>()[i] = spans.empty() ? -1 : spans.front().start;
      } else {
        generate_frames(made, spans, i, to);
      }
    }
  }

 private:
  Column& column(ColumnId id) { return ticket_.columns->block[id]; }
  [[nodiscard]] bool in_blocks(ColumnId id) const {
    return program_.source.rows && program_.taking->element_steps.empty() &&
           std::ranges::find(memory_.copied, id) == memory_.copied.end();
  }
  TicketSpans& spans_of(ColumnId id) { return in_blocks(id) ? memory_.in_blocks : memory_.in_columns; }

  /// Sets the sources to the places of a column of the elements.
  void find(ColumnId id) {
    memory_.sources.clear();
    if (memory_.elements.layout.handles.empty()) return;
    if (!in_blocks(id)) {
      memory_.sources.push_back(columns::Elements::of(memory_.ticket.columns->block[id]));
      return;
    }
    const ColumnSpec& spec = program_.schema[id];
    for (const RowBlock* const block : memory_.blocks)
      memory_.sources.push_back(
          columns::Elements::of(block->columns[static_cast<std::size_t>(id)], block->rows, spec.dtype, spec.shape));
  }

  /// Gives the spans that go to the end of their elements a length.
  std::optional<TakeFault> end_open_spans(AxisSpans& axis, const TakenColumn& cut, bool sets_lengths) {
    for (const std::size_t i : axis.open) {
      columns::PlacedSpan& span = axis.spans[i];
      span.length = 0;
      const std::int64_t frames = memory_.sources[span.source][span.element].frames;
      if (span.start > frames) return too_short(span, frames, cut.to);
      span.length = frames - span.start;
      if (sets_lengths) ticket_.job->layout.taken.spans[cut.axis][axis.first + i].length = span.length;
    }
    return std::nullopt;
  }

  /// The rows of a column whose memory exists. `output`: the tensor that it is written to, or -1.
  columns::DenseRows dense_rows(ColumnId id, std::int64_t output, Column& to) {
    const ColumnSpec& spec = program_.schema[id];
    const Job& job = *ticket_.job;
    const std::size_t row_bytes = output < 0 ? 0 : job.row_bytes[static_cast<std::size_t>(output)];
    const auto rows = static_cast<std::size_t>(ticket_.rows);
    if (row_bytes == 0) {
      std::byte* const values = to.values.data();
      return {.dtype = spec.dtype, .memory = {values, rows * to.row_bytes()}, .rows = ticket_.rows, .shape = to.shape};
    }
    std::byte* const first = job.fixed_outputs[static_cast<std::size_t>(output)];
    return {.dtype = spec.dtype,
            .memory = {first + static_cast<std::size_t>(ticket_.first_row) * row_bytes, rows * row_bytes},
            .rows = ticket_.rows,
            .shape = job.taken.shapes[static_cast<std::size_t>(output)]};
  }

  Result<void> take(const columns::Taking& taking, columns::IndexRange range, ColumnId id, std::int64_t output,
                    Column& to) {
    const bool final = output >= 0 && ticket_.job->row_bytes[static_cast<std::size_t>(output)] > 0;
    if (final || (to.fixed() && to.dtype != DType::string))
      return columns::take(taking, range, dense_rows(id, output, to));
    return columns::take(taking, {0, static_cast<std::size_t>(ticket_.rows)}, to);
  }

  std::optional<TakeFault> copy_whole(ColumnId id, std::vector<columns::PlacedSpan>& spans, Column& to) {
    for (columns::PlacedSpan& span : spans) span.length = memory_.sources[span.source][span.element].frames;
    const columns::Taking taking{.sources = memory_.sources, .spans = spans, .filler = {}, .check = &check_};
    const columns::IndexRange all{0, spans.size()};
    const auto done = take(taking, all, id, -1, to);
    if (done.ok()) return std::nullopt;
    return fault_of(done.error(), taking, all, id);
  }

  void generate_frames(const Made& made, std::span<const columns::PlacedSpan> spans, std::int64_t row, Column& to) {
    const bool starts = made.column.kind == Generated::cu_seqlens;
    const auto frames = static_cast<std::size_t>(starts ? std::ssize(spans) + 1 : columns::row_frames(spans));
    const bool final = made.output >= 0 && ticket_.job->row_bytes[static_cast<std::size_t>(made.output)] > 0;
    std::span<std::int32_t> out;
    if (final || to.fixed()) {
      const columns::DenseRows rows = dense_rows(made.column.column, made.output, to);
      const auto size = static_cast<std::size_t>(rows.shape[0]);
      out = {reinterpret_cast<std::int32_t*>(rows.memory.data()) + static_cast<std::size_t>(row) * size, size};
    } else {
      out = {reinterpret_cast<std::int32_t*>(to.values.extend(frames * sizeof(std::int32_t))), frames};
    }
    const std::span<std::int32_t> own = out.first(std::min(frames, out.size()));
    if (starts && own.size() == frames) columns::segment_starts(spans, own);
    if (made.column.kind == Generated::segment_ids) columns::segment_ids(spans, own);
    if (made.column.kind == Generated::positions) columns::segment_positions(spans, own);
    const std::span<std::int32_t> rest = out.subspan(own.size());
    columns::fill(reinterpret_cast<std::byte*>(rest.data()), made.filler, rest.size());
    if (final || to.fixed()) return;
    const auto size = static_cast<std::int64_t>(frames);
    to.end_row({&size, 1});
  }

  /// The element of a span in TakeMemory::elements.
  [[nodiscard]] std::int64_t element_of(const columns::PlacedSpan& span, bool in_blocks) const {
    if (!in_blocks) return span.element;
    const BatchLayout& layout = memory_.elements.layout;
    for (std::size_t i = 0; i < layout.handles.size(); ++i) {
      if (memory_.block_of[i] == span.source && layout.handles[i].ordinal == span.element)
        return static_cast<std::int64_t>(i);
    }
    return -1;
  }

  [[nodiscard]] TakeFault at_span(const Error& error, const columns::PlacedSpan& span, ColumnId id) const {
    ColumnId from = id;
    for (const Cut& cut : rows_.cut_) from = cut.column.to == id ? cut.column.from : from;
    return {error.at(Place{.feature = program_.schema[id].name}), ticket_.first_row + span.row,
            element_of(span, in_blocks(from))};
  }

  [[nodiscard]] TakeFault too_short(const columns::PlacedSpan& span, std::int64_t frames, ColumnId id) const {
    return at_span(Error{Code::data, Detail::failed_precondition,
                         fmt::format("{} frames from frame {} on are asked for, but this record has {}; tensors that "
                                     "are cut together must be equally long, and the data must not change",
                                     span.length, span.start, frames)},
                   span, id);
  }

  /// Which span of those that were taken is wrong. Only data that differ from what the spans were made of can be.
  [[nodiscard]] TakeFault fault_of(const Error& error, const columns::Taking& taking, columns::IndexRange range,
                                   ColumnId id) const {
    for (std::size_t i = range.first; i < range.last; ++i) {
      const columns::PlacedSpan& span = taking.spans[i];
      if (span.source >= taking.sources.size() || span.element >= taking.sources[span.source].rows()) break;
      const std::int64_t frames = taking.sources[span.source][span.element].frames;
      if (span.start > frames || span.length > frames - span.start) return too_short(span, frames, id);
    }
    const std::int64_t row = std::max<std::int64_t>(0, error.place().row);
    return {error.at(Place{.feature = program_.schema[id].name}), ticket_.first_row + row, -1};
  }

  const TakeRows& rows_;
  const Program& program_;
  Ticket& ticket_;
  TakeMemory& memory_;
  const StopCheck& check_;
};

std::optional<TakeFault> TakeRows::fill(Ticket& ticket, TakeMemory& memory, const StopCheck& check) const {
  Filling filling{*this, ticket, memory, check};
  std::vector<bool> set(program_.taking->axes);
  for (const Cut& cut : cut_) {
    check.look();
    if (auto fault = filling.cut(cut, !set[cut.column.axis])) return fault;
    set[cut.column.axis] = true;
  }
  if (!makes_whole_columns(ticket)) return std::nullopt;
  for (const ColumnId id : program_.taking->whole) {
    check.look();
    if (auto fault = filling.whole(id)) return fault;
  }
  for (const Made& made : made_) filling.generate(made);
  return std::nullopt;
}

}  // namespace forebay::engine
