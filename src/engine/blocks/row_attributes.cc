// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/row_attributes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "columns/take/row_copy.h"
#include "columns/take/strided_rows.h"
#include "engine/index/trial_decode.h"
#include "engine/memory/ticket_columns.h"

namespace forebay::engine {

namespace {

constexpr std::size_t group_rows = 256;
constexpr std::int64_t max_columns = std::int64_t{4} << 20;  // bytes of columns that stay for the next group

}  // namespace

Result<void> RowAttributes::read(std::size_t attribute, std::span<const Handle> rows, std::span<std::int64_t> out) {
  const EarlyAttribute& wanted = program_.early.attributes[attribute];
  if (block_.columns.empty()) {
    block_ = columns_of(program_.schema, pool_.get());
    for (const PlacedStep& placed : program_.early.steps) memories_.push_back(placed.step->memory());
  }
  for (std::size_t first = 0; first < rows.size(); first += group_rows) {
    const std::size_t count = std::min(group_rows, rows.size() - first);
    const auto group = rows.subspan(first, count);
    const auto done = compute(wanted, group, out.subspan(first, count));
    if (!done.ok()) return at_row(done.error().at(wanted.name), group);
  }
  std::int64_t bytes = 0;
  for (const Column& column : block_.columns) bytes += owned_bytes(column);
  for (const auto& memory : memories_) bytes += memory == nullptr ? 0 : memory->bytes();
  if (bytes > max_columns) {
    block_ = {};
    memories_.clear();
  }
  charge_.set(*pool_, bytes > max_columns ? 0 : bytes);
  return {};
}

Result<void> RowAttributes::compute(const EarlyAttribute& attribute, std::span<const Handle> rows,
                                    std::span<std::int64_t> out) {
  pool_->look();
  gather(rows);
  for (std::size_t i = 0; i < attribute.steps; ++i) {
    const PlacedStep& placed = program_.early.steps[i];
    begin_rows(block_, placed.makes, std::ssize(rows));
    FOREBAY_DO(placed.step->apply(block_, {.stop = pool_.get()}, memories_[i].get()).at(placed.name));
  }
  std::vector<expression::RowFault> faults;
  const expression::Values values = attribute.value.evaluate(block_, faults);
  if (!faults.empty())
    return Error{Code::data, Detail::invalid_argument, faults.front().message, Place{.row = faults.front().row}};
  const bool boolean = values.type == expression::Type::boolean;
  for (std::size_t row = 0; row < out.size(); ++row) {
    const std::size_t i = values.constant ? 0 : row;
    out[row] = boolean ? values.booleans[i] : values.integers[i];
  }
  return {};
}

/// Copies the columns that the attributes need.
void RowAttributes::gather(std::span<const Handle> rows) {
  begin_rows(block_, program_.early.decoded, std::ssize(rows));
  for (const ColumnId id : program_.early.decoded) {
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
