// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/take/take_sizes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace forebay::engine {

namespace {

constexpr std::int64_t string_bytes = 16;  // of work for a string, as an estimate

bool reads(const std::vector<PlacedStep>& steps, ColumnId column) {
  return std::ranges::any_of(
      steps, [&](const PlacedStep& step) { return std::ranges::find(step.reads, column) != step.reads.end(); });
}

/// Bytes of the work for one frame of a column.
std::int64_t frame_bytes(const ColumnSpec& spec) {
  std::int64_t count = 1;
  for (std::size_t axis = 1; axis < spec.shape.rank(); ++axis)
    count = std::min<std::int64_t>(count * std::max<std::int64_t>(1, spec.shape[axis]), INT32_MAX);
  return count * (spec.dtype == DType::string ? string_bytes : static_cast<std::int64_t>(size_of(spec.dtype)));
}

/// Gives the rows of a batch to tickets, one after the other.
class TicketCutter {
 public:
  TicketCutter(Job& job, std::int64_t share, std::span<const std::int64_t> frame_bytes, bool counts_elements)
      : job_{job},
        taken_{job.layout.taken},
        share_{share},
        frame_bytes_{frame_bytes},
        counts_elements_{counts_elements},
        next_(taken_.spans.size()),
        end_(taken_.spans.size()),
        used_by_(counts_elements ? job.layout.handles.size() : 0, no_ticket) {}

  void run(bool shares_rows) {
    for (std::int64_t row = 0; row < job_.layout.rows; ++row) {
      find_spans(row);
      std::int64_t bytes = bytes_of_row(row);
      const bool full = ticket_ != nullptr && held_ >= share_ && (!continues(row) || held_ / 2 >= share_);
      if (shares_rows && bytes / 2 >= share_ && cut_row(row)) continue;
      if (full || ticket_ == nullptr) {
        begin(row);
        bytes = bytes_of_row(row);
      }
      ++ticket_->rows;
      held_ += bytes;
      use_elements(row);
    }
    if (job_.cut == 0) begin(0);
  }

 private:
  void find_spans(std::int64_t row) {
    for (std::size_t axis = 0; axis < taken_.spans.size(); ++axis) {
      const auto& spans = taken_.spans[axis];
      next_[axis] = end_[axis];
      while (end_[axis] < spans.size() && spans[end_[axis]].row == row) ++end_[axis];
    }
  }

  void begin(std::int64_t row) {
    ticket_ = &job_.add_ticket(row);
    ticket_->rows = 0;
    ticket_->first_span = 0;
    ticket_->spans = Ticket::all_spans;
    held_ = 0;
  }

  [[nodiscard]] bool used(std::int64_t element) const {
    return element != RowSpans::no_element && used_by_[static_cast<std::size_t>(element)] == job_.cut;
  }
  /// Whether the row begins with an element that the ticket uses already.
  [[nodiscard]] bool continues(std::int64_t row) const {
    if (!counts_elements_) return false;
    const std::int64_t whole = taken_.whole[static_cast<std::size_t>(row)];
    return next_.empty() || next_[0] == end_[0] ? used(whole) : used(taken_.spans[0][next_[0]].element);
  }
  void use(std::int64_t element) { used_by_[static_cast<std::size_t>(element)] = job_.cut; }
  void use_elements(std::int64_t row) {
    if (!counts_elements_) return;
    if (const std::int64_t whole = taken_.whole[static_cast<std::size_t>(row)]; whole != RowSpans::no_element)
      use(whole);
    for (std::size_t i = 0; !next_.empty() && i < end_[0] - next_[0]; ++i) use(taken_.spans[0][next_[0] + i].element);
  }

  [[nodiscard]] std::int64_t bytes_of_element(std::int64_t element) const {
    return job_.layout.handles[static_cast<std::size_t>(element)].length;
  }
  [[nodiscard]] std::int64_t bytes_of_span(std::size_t axis, std::size_t span) const {
    return std::max<std::int64_t>(0, taken_.spans[axis][span].length) * frame_bytes_[axis];
  }
  /// Bytes of work that the row adds to the ticket.
  [[nodiscard]] std::int64_t bytes_of_row(std::int64_t row) const {
    std::int64_t bytes = 0;
    for (std::size_t axis = 0; axis < next_.size(); ++axis) {
      for (std::size_t i = next_[axis]; i < end_[axis]; ++i) bytes += bytes_of_span(axis, i);
    }
    if (!counts_elements_) return bytes;
    std::int64_t last = taken_.whole[static_cast<std::size_t>(row)];
    if (last != RowSpans::no_element && !used(last)) bytes += bytes_of_element(last);
    for (std::size_t i = 0; !next_.empty() && i < end_[0] - next_[0]; ++i) {
      const std::int64_t element = taken_.spans[0][next_[0] + i].element;
      if (element != last && !used(element)) bytes += bytes_of_element(element);
      last = element;
    }
    return bytes;
  }

  /// Shares one row between tickets; false when it cannot be shared.
  bool cut_row(std::int64_t row) {
    const std::size_t spans = end_[0] - next_[0];
    for (std::size_t axis = 0; axis < next_.size(); ++axis) {
      if (spans < 2 || end_[axis] - next_[axis] != spans) return false;
    }
    for (std::size_t first = 0; first < spans;) {
      begin(row);
      ticket_->rows = 1;
      ticket_->first_span = static_cast<std::int64_t>(first);
      std::int64_t held = 0;
      for (; first < spans && held < share_; ++first) {
        for (std::size_t axis = 0; axis < next_.size(); ++axis) held += bytes_of_span(axis, next_[axis] + first);
        if (counts_elements_) held += bytes_of_element(taken_.spans[0][next_[0] + first].element);
      }
      ticket_->spans = static_cast<std::int64_t>(first) - ticket_->first_span;
    }
    ticket_ = nullptr;
    return true;
  }

  static constexpr std::size_t no_ticket = std::numeric_limits<std::size_t>::max();

  Job& job_;
  const RowSpans& taken_;
  const std::int64_t share_;
  const std::span<const std::int64_t> frame_bytes_;
  const bool counts_elements_;
  std::vector<std::size_t> next_, end_;  // by axis: the spans of the row
  Ticket* ticket_ = nullptr;
  std::int64_t held_ = 0;             // bytes of work of the ticket
  std::vector<std::size_t> used_by_;  // by element: number of the last ticket that uses it, from 1
};

}  // namespace

TakeSizes::TakeSizes(const Program& program) : program_{program}, axes_(program.batched.size()) {
  const Taking& taking = *program.taking;
  frame_bytes_.resize(std::max<std::size_t>(1, taking.axes));
  for (const TakenColumn& cut : taking.cut) {
    frame_bytes_[cut.axis] += frame_bytes(program.schema[cut.from]);
    if (!cut.frame) add_candidate(cut.to, cut.axis);
  }
  for (const GeneratedColumn& made : taking.generated) {
    if (made.kind == Generated::segment_ids || made.kind == Generated::positions) add_candidate(made.column, made.axis);
  }
}

void TakeSizes::add_candidate(ColumnId column, std::size_t axis) {
  for (std::size_t i = 0; i < program_.batched.size(); ++i) {
    const Output& output = program_.batched[i];
    if (output.id != column) continue;
    axes_[i] = axis;
    const Shape& shape = output.spec.shape;
    const bool varies_inside = shape.rank() == 0 || shape.unknown() > (shape[0] == unknown_dim ? 1U : 0U);
    const bool dense = output.spec.delivery == Delivery::equal || output.spec.delivery == Delivery::padded;
    if (dense && !varies_inside && output.spec.dtype != DType::string && !reads(program_.late, column))
      candidates_.push_back({i, axis});
  }
}

void TakeSizes::measure(std::span<const std::size_t> in_place, Job& job) const {
  const RowSpans& taken = job.layout.taken;
  TakenSizes& out = job.taken;
  out.frames.resize(frame_bytes_.size());
  out.known.assign(frame_bytes_.size(), true);
  for (std::size_t axis = 0; axis < out.frames.size(); ++axis) {
    out.frames[axis].assign(static_cast<std::size_t>(job.layout.rows), 0);
    if (axis >= taken.spans.size()) continue;
    for (const columns::PlacedSpan& span : taken.spans[axis]) {
      if (span.length == RowSpans::to_the_end) out.known[axis] = false;
      out.frames[axis][static_cast<std::size_t>(span.row)] = span.end();
    }
  }
  out.axes = axes_;
  out.row_bytes.assign(in_place.begin(), in_place.end());
  if (out.shapes.empty()) {
    for (const Output& output : program_.batched) out.shapes.push_back(output.spec.shape);
  }
  for (const Candidate& candidate : candidates_) {
    if (out.known[candidate.axis] && in_place[candidate.output] == 0) measure_output(candidate, job);
  }
  job.row_bytes = out.row_bytes;
}

/// Sets the final shape of the rows of a tensor. Where the batch cannot have one, the Finisher says why.
void TakeSizes::measure_output(const Candidate& candidate, Job& job) const {
  const Output& output = program_.batched[candidate.output];
  const std::vector<std::int64_t>& frames = job.taken.frames[candidate.axis];
  const auto [shortest, longest] = std::ranges::minmax_element(frames);
  std::vector<std::int64_t> sizes = output.spec.shape.dims();
  if (sizes[0] == unknown_dim) {
    sizes[0] = frames.empty() ? 0 : *longest;
    if (output.spec.delivery == Delivery::equal && !frames.empty() && *shortest != *longest) return;
    for (const BatchRows::Longest& whole : job.layout.longest) {
      if (whole.column == output.id && output.padding) sizes[0] = std::max(sizes[0], whole.frames);
    }
  }
  for (std::size_t axis = 0; output.padding && axis < sizes.size(); ++axis) {
    const std::int64_t asked = output.padding->shape[axis];
    if (asked == unknown_dim) continue;
    if (asked < sizes[axis]) return;
    sizes[axis] = asked;
  }
  std::size_t bytes = size_of(output.spec.dtype);
  constexpr auto huge = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes) || bytes > huge) bytes = huge;
  }
  job.taken.row_bytes[candidate.output] = bytes;
  job.taken.shapes[candidate.output] = Shape{std::move(sizes)};
}

std::int64_t TakeSizes::pieces(const BatchLayout& layout) {
  const std::size_t spans = layout.taken.spans.empty() ? 0 : layout.taken.spans.front().size();
  return std::max(layout.rows, static_cast<std::int64_t>(spans));
}

/// Elements that are decoded cost work. Of other ones, their bytes stand for lengths that are not known.
bool TakeSizes::counts_elements(const Job& job) const {
  return program_.decoder || !program_.taking->element_steps.empty() ||
         std::ranges::find(job.taken.known, false) != job.taken.known.end();
}

std::int64_t TakeSizes::bytes(const Job& job, std::int64_t element_bytes) const {
  std::int64_t bytes = counts_elements(job) ? element_bytes : 0;
  for (std::size_t axis = 0; axis < job.layout.taken.spans.size(); ++axis) {
    for (const columns::PlacedSpan& span : job.layout.taken.spans[axis])
      bytes += std::max<std::int64_t>(0, span.length) * frame_bytes_[axis];
  }
  return bytes;
}

bool TakeSizes::may_share_rows(const Job& job) const {
  if (!program_.late.empty() || job.layout.taken.spans.empty()) return false;
  return std::ranges::all_of(program_.taking->cut, [&](const TakenColumn& cut) {
    const auto of = [&](const Output& output) { return output.id == cut.to; };
    const auto found = std::ranges::find_if(program_.batched, of);
    return found != program_.batched.end() &&
           job.row_bytes[static_cast<std::size_t>(found - program_.batched.begin())] > 0;
  });
}

void TakeSizes::cut(std::int64_t share, Job& job) const {
  if (share < one_ticket) return TicketCutter{job, share, frame_bytes_, counts_elements(job)}.run(may_share_rows(job));
  Ticket& ticket = job.add_ticket(0);
  ticket.rows = job.layout.rows;
  ticket.first_span = 0;
  ticket.spans = Ticket::all_spans;
}

}  // namespace forebay::engine
