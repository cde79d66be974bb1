// SPDX-License-Identifier: Apache-2.0
#include "engine/order/windows/window_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "expression/expression.h"

namespace forebay::engine {

namespace {

constexpr std::size_t elements_at_once = 64;    // of one read
constexpr std::int64_t windows_at_once = 4096;  // of one slot

Error no_access() { return {Code::internal, "windows are not reached by number"}; }

}  // namespace

WindowReader::WindowReader(const Program& program, OpenFiles& files)
    : program_{program},
      windows_{*program.windows},
      files_{files},
      table_{files, files.pool(), program.windows->windowing.axes},
      lengths_{program, files} {}

Result<bool> WindowReader::fetch(std::span<Handle> windows) {
  return table_.fetch(windows, [this](std::span<Handle> elements) { return files_.fetch(elements); });
}

Result<bool> WindowReader::fetch_batch(std::span<const Handle> windows) {
  return table_.fetch(windows, [this](std::span<Handle> elements) { return files_.fetch_batch(elements); });
}

OpenParts::Expected WindowReader::expect_batch(std::span<const Handle> windows) {
  OpenParts::Expected out;
  static_cast<void>(table_.fetch(windows, [&](std::span<Handle> elements) -> Result<bool> {
    out = files_.expect_batch(elements);
    return true;
  }));
  return out;
}

void WindowReader::hand_over(BatchLayout& layout, std::int64_t batch) {
  resolved_.clear();
  if (windows_.row_axes.empty()) {
    table_.resolve(layout, resolved_);
  } else {
    table_.resolve_parts(layout, windows_.row_axes, resolved_);
  }
  BlockTable& blocks = files_.table();
  if (program_.source.rows) {
    blocks.lend_rows(layout.handles, batch, layout.row_blocks, layout.blocks);
  } else {
    blocks.lend(layout.handles, batch,
                {.payloads = layout.payloads, .blocks = layout.blocks, .unmapped = layout.unmapped});
    files_.expect_reads(layout);
  }
  files_.begin_batch(batch);
  table_.release(resolved_);
}

RowIdentity WindowReader::identity(const Handle& window) const {
  RowIdentity out = files_.identity(table_.first_element(window));
  out.window = table_.number(window).number;
  return out;
}

Error WindowReader::at(const Handle& window, const Error& error) const {
  const Handle& element = table_.first_element(window);
  return place_of_element(program_, files_.table()[element.block].file,
                          error.at(Place{.record = files_.record_of(element)}));
}

Result<void> WindowReader::check_parts(std::span<const BatchRows::Part> parts) const {
  for (const BatchRows::Part& part : parts) {
    if (part.element.block == BlockTable::nowhere) continue;  // a placeholder of a batch that a restart drops
    const std::int64_t frames = table_.frames(part.element, windows_.row_axes.front().axis);
    for (const RowAxis& axis : windows_.row_axes) {
      const std::int64_t other = table_.frames(part.element, axis.axis);
      if (!axis.packs || other == frames) continue;
      const auto message = "a window has " + std::to_string(frames) + " frames of one tensor and " +
                           std::to_string(other) +
                           " of another one; tensors that a batcher packs together are equally long";
      return at(part.element, Error{Code::data, Detail::invalid_argument, message});
    }
    if (part.start < 0 || part.length < 0 || part.start > frames - part.length)
      return Error{Code::internal, "the batcher has placed frames " + std::to_string(part.start) + " to " +
                                       std::to_string(part.start + part.length) + " of a window of " +
                                       std::to_string(frames)};
  }
  return {};
}

Reader::Stream WindowReader::open(Handle file) {
  return parts_.add({.stream = files_.open(file), .number = file.block});
}

bool WindowReader::ready(Stream stream) {
  const Part& part = parts_[stream];
  return part.next < part.windows.size() || part.ended || files_.ready(part.stream);
}

void WindowReader::close(Stream stream) {
  Part part = parts_.take(stream);
  forget(part, true);
  files_.drop(part.pulled);
  table_.release(std::span{part.windows}.subspan(part.next));
  files_.close(part.stream);
}

Result<std::size_t> WindowReader::read(Stream stream, std::span<Handle> out) {
  Part& part = parts_[stream];
  while (part.next == part.windows.size() && !part.finished) FOREBAY_DO(more(part));
  const std::size_t count = std::min(out.size(), part.windows.size() - part.next);
  std::copy_n(part.windows.begin() + static_cast<std::ptrdiff_t>(part.next), count, out.begin());
  part.next += count;
  return count;
}

Result<std::int64_t> WindowReader::skip(Stream stream, std::int64_t n) {
  Part& part = parts_[stream];
  while (part.next == part.windows.size() && !part.finished) FOREBAY_DO(more(part));
  const std::size_t count = std::min(static_cast<std::size_t>(n), part.windows.size() - part.next);
  table_.release(std::span{part.windows}.subspan(part.next, count));
  part.next += count;
  return static_cast<std::int64_t>(count);
}

/// Reads elements, or cuts the windows that they complete. An interrupted call goes on where it stopped.
Result<void> WindowReader::more(Part& part) {
  if (part.broken) return *part.broken;
  if (part.full) return cut(part);
  if (part.ends) {  // and all its windows are cut: the next stretch begins
    forget(part, true);
    part.first_frame = part.cursor.position = 0;
    part.ends = false;
    part.finished = part.ended;
    if (part.finished) return {};
  }
  if (part.pulled.empty()) {
    FOREBAY_DO(pull(part));
    if (part.ends) return cut(part);
  }
  FOREBAY_DO(add_pulled(part));
  return cut(part);
}

Result<void> WindowReader::pull(Part& part) {
  part.pulled.resize(elements_at_once);
  const auto count = files_.read(part.stream, part.pulled);
  part.pulled.resize(count.ok() ? *count : 0);
  FOREBAY_DO(count);
  const std::int64_t skips = files_.skips_of(part.stream);
  part.ended = *count == 0;
  part.ends = part.ended || skips != part.skips;
  part.skips = skips;
  return {};
}

/// Moves the elements that were read to those that windows may lie in.
Result<void> WindowReader::add_pulled(Part& part) {
  const std::size_t before = part.lengths.size();
  FOREBAY_DO(lengths_.read(part.pulled, part.lengths));
  if (part.elements.empty()) part.first_element = files_.record_of(part.pulled.front());
  const std::span<const std::int64_t> lengths = std::span{part.lengths}.subspan(before);
  for (std::size_t i = 0; i < part.pulled.size(); ++i) {
    const auto own = lengths.subspan(i * lengths_.keys(), lengths_.keys());
    part.elements.push_back(table_.add_element(part.pulled[i], ElementLengths::frame_bytes(part.pulled[i], own)));
  }
  part.pulled.clear();
  return {};
}

/// Cuts windows until a slot is full, and gives up the elements that lie before the next window.
Result<void> WindowReader::cut(Part& part) {
  part.windows.clear();
  part.next = 0;
  part.full = false;
  if (part.elements.empty()) return {};
  FOREBAY_TRY(SpanTable made, cut_before_faults(part));
  for (WindowSpan& span : made.spans_from(0)) span.element -= part.first_element;
  FOREBAY_DO(table_.add(std::move(made), part.elements, part.windows));
  forget(part, false);
  return {};
}

/// Calls the cutter. When an element has a fault, the windows before it come first, and the fault next.
Result<SpanTable> WindowReader::cut_before_faults(Part& part) {
  SpanTable made{windows_.windowing.axes};
  WindowRows rows{.first_element = part.first_element,
                  .first_frame = part.first_frame,
                  .lengths = part.lengths,
                  .ends = part.ends,
                  .place = {.seed = program_.seed,
                            .epoch = static_cast<std::uint64_t>(epoch_),
                            .part = part.number,
                            .purpose = windows_.purpose}};
  const WindowCutter& cutter = *windows_.windowing.cutter;
  auto end = cutter.cut(rows, part.cursor, windows_at_once, made);
  if (!end.ok()) {
    part.broken = place_of_element(program_, part.number, end.error());
    const std::int64_t good = end.error().place().record - part.first_element;
    if (good <= 0) return *part.broken;
    made.clear();
    rows.lengths = rows.lengths.first(static_cast<std::size_t>(good) * lengths_.keys());
    rows.ends = false;
    end = cutter.cut(rows, part.cursor, std::numeric_limits<std::int64_t>::max(), made);
    FOREBAY_DO(end);
  }
  part.full = *end == CutEnd::full;
  return made;
}

/// Gives up the elements that end before the next window; `all`: every one.
void WindowReader::forget(Part& part, bool all) {
  std::size_t gone = 0;
  for (; gone < part.elements.size(); ++gone) {
    const std::int64_t length = windows_.windowing.by_element ? 1 : part.lengths[gone * lengths_.keys()];
    if (!all && part.first_frame + length > part.cursor.position) break;
    part.first_frame += length;
    table_.release_element(part.elements[gone]);
  }
  part.first_element += static_cast<std::int64_t>(gone);
  part.elements.erase(part.elements.begin(), part.elements.begin() + static_cast<std::ptrdiff_t>(gone));
  part.lengths.erase(part.lengths.begin(), part.lengths.begin() + static_cast<std::ptrdiff_t>(gone * lengths_.keys()));
}

/// What is known of windows that are not made yet: the lengths of the tensors that are cut, and the generated columns.
/// An expression asks for nothing else.
ColumnBlock WindowReader::known_columns(std::span<const Handle> windows) const {
  ColumnBlock block{.rows = std::ssize(windows), .columns = {}};
  for (std::size_t id = 0; id < program_.schema.size(); ++id)
    block.columns.emplace_back(program_.schema[static_cast<ColumnId>(id)]);
  const Windowing& windowing = windows_.windowing;
  for (std::size_t key = 0; key < windowing.made.size() && !windowing.frames; ++key) {
    Column& column = block[windowing.made[key]];
    const std::size_t unknown = column.shape.unknown();
    if (column.shape[0] != unknown_dim) continue;
    const std::size_t axis = windowing.axes == 1 ? 0 : key;
    for (const Handle& window : windows) {
      column.dims.push(table_.frames(window, axis));
      for (std::size_t i = 1; i < unknown; ++i) column.dims.push(std::int64_t{0});
    }
  }
  for (const GeneratedColumn& made : windowing.generated) {
    Column& column = block[made.column];
    for (const Handle& window : windows) {
      if (made.kind == Generated::cu_seqlens) {
        if (!column.fixed()) column.dims.push(table_.spans(window) + 1);
      } else {
        column.values.push(made.kind == Generated::window ? table_.number(window).number
                                                          : table_.start(window, made.axis));
      }
    }
  }
  return block;
}

Result<void> WindowReader::attributes(std::size_t attribute, std::span<const Handle> windows,
                                      std::span<std::int64_t> out) {
  const WindowAttribute& wanted = windows_.attributes[attribute];
  if (!wanted.lengths) {
    elements_.clear();
    for (const Handle& window : windows) elements_.push_back(table_.first_element(window));
    if (wanted.frames) {
      frames_.clear();
      for (const Handle& window : windows) frames_.push_back(table_.start(window, 0));
      return files_.frame_attributes(*wanted.frames, elements_, frames_, out);
    }
    return files_.attributes(wanted.early, elements_, out);
  }
  const ColumnBlock block = known_columns(windows);
  std::vector<expression::RowFault> faults;
  const expression::Values values = wanted.lengths->evaluate(block, faults);
  if (!faults.empty()) {
    return Error{Code::data, Detail::invalid_argument, faults.front().message};
  }
  for (std::size_t i = 0; i < windows.size(); ++i) out[i] = expression::attribute_of(values, i);
  return {};
}

Result<std::vector<std::int64_t>> WindowReader::count(std::span<const Handle>) { return no_access(); }
Result<std::vector<std::int64_t>> WindowReader::index(std::span<const Handle>) { return no_access(); }
Result<void> WindowReader::locate(std::span<const RecordName>, std::span<Handle>) { return no_access(); }

Error place_of_element(const Program& program, std::uint32_t part, const Error& error) {
  const auto at = program.source.locate(part, error.place().record, -1);
  return error.at(Place{.file = program.source.files[at.file], .record = at.record});
}

}  // namespace forebay::engine
