// SPDX-License-Identifier: Apache-2.0
#include "engine/read/frames/frame_values.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/memory/ticket_columns.h"

namespace forebay::engine {

namespace {

using ElementSources = std::vector<columns::Elements>;

/// Readies a column for that many frames: one of numbers of a known shape has its rows, others are empty.
void begin_frames(std::int64_t frames, Column& column) {
  column.clear();
  if (column.fixed() && column.dtype != DType::string) column.set_rows(frames);
}

/// The single value of each frame. `cut`: that of the frame, else that of its record.
void copy_values(const ElementSources& sources, std::span<const FrameOf> frames, bool cut, Column& to) {
  const std::size_t size = to.dtype == DType::string ? 0 : size_of(to.dtype);
  std::byte* out = to.values.data();
  for (const FrameOf& frame : frames) {
    const columns::Elements& from = sources[frame.source];
    const std::int64_t at = from[frame.record].first + (cut ? frame.frame : 0);
    if (size == 0) {
      const std::int64_t* const splits = from.byte_splits() + at;
      to.push_string({from.bytes() + splits[0], static_cast<std::size_t>(splits[1] - splits[0])});
    } else {
      std::memcpy(out, from.values() + static_cast<std::size_t>(at) * size, size);
      out += size;
    }
  }
}

/// The sizes of each row, without its values: an expression asks only for the length and the presence of rows.
/// `ragged`: the column whose splits say how many values its rows have, or null.
void copy_sizes(const ElementSources& sources, std::span<const FrameOf> frames, bool cut, const Column* ragged,
                Column& to) {
  std::vector<std::int64_t> sizes(to.shape.rank() + 1);
  std::int64_t end = 0;
  for (const FrameOf& frame : frames) {
    const columns::Elements& from = sources[frame.source];
    sizes[0] = from[frame.record].frames;
    from.frame_sizes(frame.record, sizes.data() + 1);
    std::int64_t values = 1;
    for (std::size_t axis = 0; axis < to.shape.rank(); ++axis) {
      const std::int64_t size = sizes[axis + (cut ? 1 : 0)];
      values *= size;
      if (to.shape[axis] == unknown_dim) to.dims.push(size);
    }
    if (ragged != nullptr) {
      const auto* const splits = ragged->row_splits.as<std::int64_t>() + frame.record;
      values = splits[1] - splits[0];
    }
    end += values;
    to.row_splits.push(end);
  }
}

}  // namespace

void FrameValues::fill(ColumnId id, const Sources& sources, const ColumnBlock& records,
                       std::span<const FrameOf> frames) {
  Column& to = block_[id];
  const Windowing& windowing = program_.windows->windowing;
  if (std::ranges::find(windowing.generated, id, &GeneratedColumn::column) != windowing.generated.end()) {
    begin_frames(std::ssize(frames), to);
    for (std::size_t i = 0; i < frames.size(); ++i) to.values.as<std::int64_t>()[i] = frames[i].frame;
    return;
  }
  const auto made = std::ranges::find(windowing.made, id);
  const bool cut = made != windowing.made.end();
  const ColumnId from = cut ? windowing.keys[static_cast<std::size_t>(made - windowing.made.begin())] : id;
  if (to.shape.rank() > 0 && to.shape.known()) return;  // its length is that of the shape
  begin_frames(std::ssize(frames), to);
  if (to.shape.rank() == 0) return copy_values(sources(from), frames, cut, to);
  copy_sizes(sources(from), frames, cut, to.parts.empty() ? nullptr : &records[from], to);
}

Result<void> FrameValues::evaluate(const FrameAttribute& attribute, const Sources& sources, const ColumnBlock& records,
                                   std::span<const FrameOf> frames, std::span<std::int64_t> out) {
  if (frames.empty()) return {};
  if (block_.columns.empty()) block_ = columns_of(program_.schema, pool_.get());
  block_.rows = std::ssize(frames);
  for (const ColumnId id : attribute.value.reads()) fill(id, sources, records, frames);
  std::vector<expression::RowFault> faults;
  const expression::Values values = attribute.value.evaluate(block_, faults);
  if (!faults.empty())
    return Error{Code::data, Detail::invalid_argument, faults.front().message, Place{.row = faults.front().row}};
  for (std::size_t i = 0; i < frames.size(); ++i) out[i] = expression::attribute_of(values, i);
  return {};
}

std::int64_t FrameValues::frames_of(const Program& program, const ColumnBlock& records, std::int64_t record) {
  std::int64_t frames = std::numeric_limits<std::int64_t>::max();
  bool known = false;
  for (const FrameAttribute& attribute : program.early.frame_attributes) {
    for (const ColumnId key : attribute.keys) {
      frames = std::min(frames, columns::Elements::of(records[key])[record].frames);
      known = true;
    }
  }
  return known ? frames : 0;
}

std::int64_t FrameValues::bytes() const {
  std::int64_t bytes = 0;
  for (const Column& column : block_.columns) bytes += owned_bytes(column);
  return bytes;
}

}  // namespace forebay::engine
