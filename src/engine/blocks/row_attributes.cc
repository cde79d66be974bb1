// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/row_attributes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "columns/take/row_copy.h"
#include "columns/take/strided_rows.h"
#include "engine/index/trial_decode.h"
#include "engine/memory/ticket_columns.h"
#include "engine/program/attribute_values.h"

namespace forebay::engine {

namespace {

constexpr std::size_t group_rows = 256;
constexpr std::int64_t max_columns = std::int64_t{4} << 20;  // bytes of columns that stay for the next group

}  // namespace

Result<void> RowAttributes::read(std::size_t attribute, std::span<const Handle> rows, std::span<std::int64_t> out) {
  const EarlyAttribute& wanted = program_.early.attributes[attribute];
  begin();
  for (std::size_t first = 0; first < rows.size(); first += group_rows) {
    const std::size_t count = std::min(group_rows, rows.size() - first);
    const auto group = rows.subspan(first, count);
    const auto done = compute(wanted, group, out.subspan(first, count));
    if (!done.ok()) return at_row(done.error().at(wanted.name), group);
  }
  account();
  return {};
}

Result<void> RowAttributes::read_frames(std::size_t attribute, std::span<const Handle> rows,
                                        std::span<const std::int64_t> frames, std::span<std::int64_t> out) {
  begin();
  for (std::size_t first = 0; first < rows.size(); first += group_rows) {
    const std::size_t count = std::min(group_rows, rows.size() - first);
    FOREBAY_DO(compute_frames(program_.early.frame_attributes[attribute], rows.subspan(first, count),
                              frames.subspan(first, count), out.subspan(first, count)));
  }
  account();
  return {};
}

void RowAttributes::begin() {
  if (!block_.columns.empty()) return;
  block_ = columns_of(program_.schema, pool_.get());
  for (const PlacedStep& placed : program_.early.steps) memories_.push_back(placed.step->memory());
}

/// Charges the columns that stay for the next call, or frees them when they are large.
void RowAttributes::account() {
  std::int64_t bytes = frames_.bytes();
  for (const Column& column : block_.columns) bytes += owned_bytes(column);
  for (const auto& memory : memories_) bytes += memory == nullptr ? 0 : memory->bytes();
  if (bytes > max_columns) {
    block_ = {};
    memories_.clear();
    frames_.clear();
  }
  charge_.set(*pool_, bytes > max_columns ? 0 : bytes, MemoryUse::order);
}

/// Finds the frames in the row blocks. False: the rows must be copied.
bool RowAttributes::find_in_blocks(const FrameAttribute& attribute, std::span<const Handle> rows,
                                   std::span<const std::int64_t> frames) {
  if (attribute.steps > 0) return false;
  blocks_.clear();
  places_.clear();
  std::size_t last = 0;  // in `blocks_`
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowBlock* const block = table_[rows[i].block].rows.get();
    if (blocks_.empty() || blocks_[last] != block) {
      last = static_cast<std::size_t>(std::ranges::find(blocks_, block) - blocks_.begin());
      if (last == blocks_.size()) blocks_.push_back(block);
    }
    places_.push_back({.source = static_cast<std::uint32_t>(last),
                       .record = static_cast<std::uint32_t>(table_.row_of(rows[i])),
                       .frame = frames[i]});
  }
  const auto is_plain = [&](const RowBlock* block) {
    return std::ranges::all_of(attribute.reads, [&](ColumnId id) {
      const ColumnSpec& spec = program_.schema[id];
      return columns::plain(block->columns[static_cast<std::size_t>(id)], spec.dtype, spec.shape);
    });
  };
  return std::ranges::all_of(blocks_, is_plain);
}

Result<void> RowAttributes::compute_frames(const FrameAttribute& attribute, std::span<const Handle> rows,
                                           std::span<const std::int64_t> frames, std::span<std::int64_t> out) {
  pool_->look();
  const auto in_blocks = [this](ColumnId id) {
    const ColumnSpec& spec = program_.schema[id];
    std::vector<columns::Elements> sources;
    for (const RowBlock* const block : blocks_)
      sources.push_back(
          columns::Elements::of(block->columns[static_cast<std::size_t>(id)], block->rows, spec.dtype, spec.shape));
    return sources;
  };
  const auto copied = [this](ColumnId id) { return std::vector{columns::Elements::of(block_[id])}; };
  Result<void> done;
  if (find_in_blocks(attribute, rows, frames)) {
    done = frames_.evaluate(attribute, in_blocks, block_, places_, out);
  } else {
    std::vector<Handle> once;  // the rows, without those that equal the one before
    places_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || rows[i].block != rows[i - 1].block || rows[i].ordinal != rows[i - 1].ordinal)
        once.push_back(rows[i]);
      places_.push_back({.record = static_cast<std::uint32_t>(once.size() - 1), .frame = frames[i]});
    }
    gather(once);
    const auto made = make_columns(attribute.steps);
    if (!made.ok()) return at_row(made.error().at(attribute.name), once);
    done = frames_.evaluate(attribute, copied, block_, places_, out);
  }
  if (!done.ok()) return at_row(done.error().at(attribute.name), rows);
  return {};
}

/// Applies the first steps to the rows that were gathered.
Result<void> RowAttributes::make_columns(std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) {
    const PlacedStep& placed = program_.early.steps[i];
    begin_rows(block_, placed.makes, block_.rows);
    FOREBAY_DO(placed.step->apply(block_, {.stop = pool_.get()}, memories_[i].get()).at(placed.name));
  }
  return {};
}

Result<void> RowAttributes::compute(const EarlyAttribute& attribute, std::span<const Handle> rows,
                                    std::span<std::int64_t> out) {
  pool_->look();
  if (attribute.steps == 0) {
    gather_operands(attribute, rows);
  } else {
    gather(rows);
  }
  FOREBAY_DO(make_columns(attribute.steps));
  std::vector<expression::RowFault> faults;
  const expression::Values values = attribute.value.evaluate(block_, faults);
  if (!faults.empty())
    return Error{Code::data, Detail::invalid_argument, faults.front().message, Place{.row = faults.front().row}};
  return write_integers(attribute, values, 0, 1, out);
}

/// Copies what the expression computes with: single values, and of tensors with axes the sizes of their rows.
void RowAttributes::gather_operands(const EarlyAttribute& attribute, std::span<const Handle> rows) {
  std::vector<ColumnId> single, sized;
  for (const ColumnId id : attribute.value.reads()) {
    const Shape& shape = block_[id].shape;
    if (shape.rank() == 0) single.push_back(id);
    if (!shape.known()) sized.push_back(id);
  }
  begin_rows(block_, sized, std::ssize(rows));
  for (const ColumnId id : sized) {
    for (const Handle& handle : rows) {
      const RowColumn& from = table_[handle.block].rows->columns[static_cast<std::size_t>(id)];
      columns::append_sizes(from, static_cast<std::int64_t>(table_.row_of(handle)), block_[id]);
    }
  }
  begin_rows(block_, single, std::ssize(rows));
  gather_columns(single, rows);
}

/// Copies the columns that the attributes need.
void RowAttributes::gather(std::span<const Handle> rows) {
  begin_rows(block_, program_.early.decoded, std::ssize(rows));
  gather_columns(program_.early.decoded, rows);
}

void RowAttributes::gather_columns(std::span<const ColumnId> ids, std::span<const Handle> rows) {
  for (const ColumnId id : ids) {
    Column& to = block_[id];
    const bool known = to.fixed() && to.dtype != DType::string;
    std::byte* out = to.values.data();
    const RowBlock* block = nullptr;
    std::optional<columns::StridedRows> from;  // of `block`
    for (const Handle& handle : rows) {
      const RowBlock& here = *table_[handle.block].rows;
      const RowColumn& column = here.columns[static_cast<std::size_t>(id)];
      const auto row = static_cast<std::int64_t>(table_.row_of(handle));
      if (!known) {
        columns::append_row(column, row, to.shape, to);
        continue;
      }
      if (std::exchange(block, &here) != &here) from.emplace(column, here.rows, to.dtype, to.shape);
      from->copy(row, 1, out);
      out += from->row_bytes();
    }
  }
}

/// The error at its row of the group, with the part and the number of the row there.
Error RowAttributes::at_row(const Error& error, std::span<const Handle> rows) const {
  const auto row = static_cast<std::size_t>(std::clamp<std::int64_t>(error.place().row, 0, std::ssize(rows) - 1));
  const Handle& handle = rows[row];
  const Block& block = table_[handle.block];
  return error.at(
      Place{.file = program_.source.rows->parts[block.file].name, .record = block.first_record + handle.ordinal});
}

}  // namespace forebay::engine
