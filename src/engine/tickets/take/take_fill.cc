// SPDX-License-Identifier: Apache-2.0
// TakeRows::fill: the spans of a ticket are known, and its elements are there.
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "columns/fill.h"
#include "columns/take/segments.h"
#include "engine/tickets/take/take_rows.h"

namespace forebay::engine {

namespace {

/// The shape of a window of one frame of this shape.
Shape one_frame(const Shape& frame) {
  std::vector<std::int64_t> sizes = frame.dims();
  sizes.insert(sizes.begin(), 1);
  return Shape{std::move(sizes)};
}

}  // namespace

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
                                 .unfold = cut.column.unfold,
                                 .check = &check_};
    Column& to = column(cut.column.to);
    const auto done = cut.column.frame ? take_frames(taking, axis.range, cut.column.to, cut.output, to)
                                       : take(taking, axis.range, cut.column.to, cut.output, to);
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
        const bool none = taken.windows.empty() || ticket_.job->layout.element_of(row) == RowSpans::no_element;
        to.values.as<std::int64_t>()[i] = none ? -1 : taken.windows[static_cast<std::size_t>(row)];
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
    if (memory_.decoded) return true;
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

  /// As `take`, for a column whose rows are single frames. The kernel writes them as rows of one frame.
  Result<void> take_frames(const columns::Taking& taking, columns::IndexRange range, ColumnId id, std::int64_t output,
                           Column& to) {
    if (to.fixed() && to.dtype != DType::string) {
      columns::DenseRows rows = dense_rows(id, output, to);
      rows.shape = one_frame(rows.shape);
      return columns::take(taking, range, rows);
    }
    const Shape own = std::exchange(to.shape, one_frame(to.shape));
    auto done = columns::take(taking, {0, static_cast<std::size_t>(ticket_.rows)}, to);
    to.shape = own;
    return done;
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
      if (memory_.block_of[i] == span.source && memory_.row_in_block(i) == span.element)
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
  if (!ticket.begins_row()) return std::nullopt;
  for (const ColumnId id : program_.taking->whole) {
    check.look();
    if (auto fault = filling.whole(id)) return fault;
  }
  for (const Made& made : made_) filling.generate(made);
  return std::nullopt;
}

}  // namespace forebay::engine
