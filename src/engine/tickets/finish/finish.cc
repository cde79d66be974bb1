// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/finish/finish.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>

#include <fmt/core.h>

#include "columns/scalar.h"
#include "engine/memory/catch_all.h"
#include "engine/tickets/row_identities.h"

namespace forebay::engine {

namespace {

/// The sizes of all rows of a padded or equal output: unknown dims come from `sizes`, then the document's padding.
Result<Shape> target_shape(const Output& output, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> dims = output.spec.shape.dims();
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == unknown_dim) dims[axis] = sizes[next++];
    const std::int64_t asked = output.padding ? output.padding->shape[axis] : unknown_dim;
    if (asked == unknown_dim) continue;
    if (asked < dims[axis]) {
      return Error{
          Code::data, Detail::invalid_argument,
          fmt::format("a row has size {} in axis {}, more than the {} it is to be padded to", dims[axis], axis, asked),
          Place{.feature = output.spec.name}};
    }
    dims[axis] = asked;
  }
  return Shape{std::move(dims)};
}

Shape with_rows(std::int64_t rows, const Shape& row) {
  Shape out;
  out.assign(rows, row);
  return out;
}

}  // namespace

std::vector<std::byte> filler_of(const Output& output) {
  const bool asked = output.padding && !std::holds_alternative<std::monostate>(output.padding->value);
  if (!asked && !output.spec.pad.empty()) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(output.spec.pad.data());
    return {bytes, bytes + output.spec.pad.size()};
  }
  auto element =
      columns::element_from(asked ? JsonCodec<Scalar>::write(output.padding->value) : Json{}, output.spec.dtype);
  return element.ok() ? *std::move(element) : std::vector<std::byte>(size_of(output.spec.dtype));
}

std::int64_t Finisher::text_bytes(columns::Pieces pieces) {
  if (pieces.front()->dtype != DType::string) return 0;
  return columns::extents(pieces).bytes + static_cast<std::int64_t>(sizeof(std::int64_t));
}

bool changes_shape(const Output& output) {
  if (!output.padding) return false;
  for (std::size_t axis = 0; axis < output.spec.shape.rank(); ++axis) {
    const std::int64_t asked = output.padding->shape[axis];
    if (asked != unknown_dim && asked != output.spec.shape[axis]) return true;
  }
  return false;
}

std::optional<Finisher::Failure> Finisher::run(Batch::Content& content) {
  if (!program_.after.empty()) return after_batch(content);
  content.values.resize(program_.batched.size());
  content.lengths.resize(program_.batched.size());
  for (std::size_t i = 0; i < program_.batched.size(); ++i) {
    Made made{.value = std::move(content.values[i]), .lengths = std::nullopt};
    if (auto failed = make(i, made)) return failed;
    content.values[i] = std::move(made.value);
    content.lengths[i] = std::move(made.lengths);
  }
  return std::nullopt;
}

std::vector<const Column*> Finisher::pieces(const Output& output) {
  std::vector<const Column*> out;
  for (std::size_t i = 0; i < job_.cut; ++i) out.push_back(&job_.tickets[i]->columns->block[output.id]);
  const std::int64_t missing = job_.layout.rows - job_.layout.filled_rows();
  if (missing == 0) return out;
  auto rows = std::make_unique<Column>(program_.schema[output.id]);
  const std::vector<std::int64_t> sizes(rows->shape.unknown());
  const std::int64_t elements = rows->fixed() ? missing * rows->shape.count() : 0;
  if (rows->dtype == DType::string) {
    for (std::int64_t i = 0; i < elements; ++i) rows->push_string({});
  } else if (rows->fixed() && elements > 0) {
    const std::size_t size = static_cast<std::size_t>(elements) * size_of(rows->dtype);
    std::memset(rows->values.resize(size), 0, size);
  }
  if (rows->fixed()) rows->rows = missing;
  for (std::int64_t i = 0; i < missing && !rows->fixed(); ++i) {
    rows->end_row(sizes);
    for (Column& part : rows->parts) part.end_row(std::vector<std::int64_t>(part.shape.unknown()));
  }
  out.push_back(rows.get());
  empty_rows_.push_back({std::move(rows), pool_.charge(owned_bytes(*out.back()))});
  return out;
}

/// A tensor over the rows that the tickets have written.
std::optional<Finisher::Failure> Finisher::made_in_place(std::size_t index, Made& made) {
  const Output& output = program_.batched[index];
  Tensor& tensor = made.value.values;
  tensor.dtype = output.spec.dtype;
  tensor.shape.assign(job_.layout.rows, program_.taking ? job_.taken.shapes[index] : output.spec.shape);
  tensor.data = job_.fixed_outputs[index];
  tensor.owner = job_.fixed;
  if (output.spec.shape.known()) return std::nullopt;
  const Shape rows{job_.layout.rows};
  if (auto failed = room(output, sizeof(std::int64_t), rows)) return failed;
  made.lengths = integers(rows);
  std::ranges::copy(job_.taken.frames[job_.taken.axes[index]], made.lengths->as<std::int64_t>().data());
  return std::nullopt;
}

std::optional<Finisher::Failure> Finisher::make(std::size_t index, Made& made) {
  const Output& output = program_.batched[index];
  const ColumnSpec& spec = output.spec;
  if (job_.fixed_outputs[index] != nullptr) return made_in_place(index, made);
  const std::vector<const Column*> rows = pieces(output);
  if (!spec.shape.known()) {
    if (auto failed = lengths_of(output, rows, made)) return failed;
  }
  switch (spec.delivery) {
    case Delivery::equal:
    case Delivery::padded:
      return dense(output, rows, made);
    case Delivery::ragged:
      return ragged(output, rows, made);
    case Delivery::sparse:
      return sparse(output, rows, made);
  }
  return std::nullopt;
}

std::optional<Finisher::Failure> Finisher::room(const Output& output, std::size_t size, const Shape& shape,
                                                std::int64_t more) {
  std::int64_t bytes = 0;
  const bool huge = __builtin_mul_overflow(shape.count(), size, &bytes) ||
                    __builtin_add_overflow(bytes, more, &bytes) || __builtin_add_overflow(needed_, bytes, &needed_);
  if (!huge && needed_ <= pool_.limit()) return std::nullopt;
  return Failure{Error{
      Code::data, Detail::resource_exhausted,
      fmt::format("batch {} needs {} bytes with an array of shape {}, more than the memory budget of "
                  "{} bytes; raise `memory`, make batches smaller, or drop the outlier",
                  job_.layout.number, huge ? "more than 2^63" : std::to_string(needed_), shape.text(), pool_.limit()),
      Place{.feature = output.spec.name}}};
}

std::optional<Finisher::Failure> Finisher::dense(const Output& output, columns::Pieces pieces, Made& made) {
  const ColumnSpec& spec = output.spec;
  if (spec.delivery == Delivery::equal && !spec.shape.known()) {
    if (const std::int64_t row = columns::first_unequal(pieces); row >= 0) {
      return Failure{Error{Code::data, Detail::invalid_argument,
                           fmt::format("its shape differs from that of the batch's first row ({}); pad the batch, "
                                       "deliver the tensor ragged, "
                                       "or use batches of one row",
                                       pieces.front()->row_shape(0).text()),
                           Place{.feature = spec.name}},
                     row};
    }
  }
  std::vector<std::int64_t> sizes = columns::largest_sizes(pieces);
  for (const BatchRows::Longest& longest : job_.layout.longest) {
    const bool grows = longest.column == output.id && output.padding && spec.shape[0] == unknown_dim;
    if (grows) sizes[0] = std::max(sizes[0], longest.frames);
  }
  auto shape = target_shape(output, sizes);
  if (!shape.ok()) return Failure{shape.error()};
  const Shape whole = with_rows(job_.layout.rows, *shape);
  const bool as_they_are = spec.delivery == Delivery::equal || (spec.shape.known() && !changes_shape(output));
  const std::vector<std::byte> filler = as_they_are ? std::vector<std::byte>{} : filler_of(output);
  std::int64_t text = text_bytes(pieces);
  if (spec.dtype == DType::string && !filler.empty()) {
    const std::int64_t filled = whole.count() - columns::extents(pieces).elements;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(filled, filler.size(), &bytes) || __builtin_add_overflow(text, bytes, &text))
      text = INT64_MAX;
  }
  if (auto failed = room(output, element_bytes(spec.dtype), whole, text)) return failed;
  if (as_they_are) {
    made.value.values = flat_values(pieces, whole, Use::dense);
    return std::nullopt;
  }
  if (spec.dtype == DType::string) {
    const columns::Extents size{whole.count(), text - static_cast<std::int64_t>(sizeof(std::int64_t))};
    made.value.values = strings(pieces, whole, size, [&](const Column& piece, columns::StringsOut& out) {
      columns::pad_strings(piece, *shape, filler, out, &pool_);
    });
    return std::nullopt;
  }
  auto memory = pool_.lend_pinned(static_cast<std::size_t>(whole.count()) * size_of(spec.dtype));
  std::byte* next = memory.get();
  each(pieces, [&](const Column& piece) { next = columns::pad(piece, *shape, filler, next, &pool_); });
  made.value.values = Tensor{.dtype = spec.dtype,
                             .shape = whole,
                             .data = memory.get(),
                             .byte_splits = nullptr,
                             .bytes = nullptr,
                             .owner = memory};
  return std::nullopt;
}

template <class Copy>
Tensor Finisher::strings(columns::Pieces pieces, Shape shape, columns::Extents size, Copy copy) {
  const auto splits_bytes = static_cast<std::size_t>(size.elements + 1) * sizeof(std::int64_t);
  auto memory = pool_.lend(splits_bytes + static_cast<std::size_t>(size.bytes));
  auto* const splits = reinterpret_cast<std::int64_t*>(memory.get());
  *splits = 0;
  columns::StringsOut out{.bytes = memory.get() + splits_bytes, .ends = splits + 1};
  each(pieces, [&](const Column& piece) { copy(piece, out); });
  return {.dtype = DType::string,
          .shape = std::move(shape),
          .data = nullptr,
          .byte_splits = splits,
          .bytes = memory.get() + splits_bytes,
          .owner = std::move(memory)};
}

Tensor Finisher::flat_values(columns::Pieces pieces, Shape shape, Use use) {
  const DType dtype = pieces.front()->dtype;
  const columns::Extents size = columns::extents(pieces);
  if (dtype == DType::string) {
    return strings(pieces, std::move(shape), size,
                   [&](const Column& piece, columns::StringsOut& out) { columns::copy_strings(piece, out, &pool_); });
  }
  const std::size_t bytes = static_cast<std::size_t>(size.elements) * size_of(dtype);
  const bool for_devices = use == Use::dense && !program_.makes_rows;
  auto memory = for_devices ? pool_.lend_pinned(bytes) : pool_.lend(bytes);
  std::byte* const data = memory.get();
  std::byte* next = data;
  each(pieces, [&](const Column& piece) { next = columns::copy_values(piece, next, &pool_); });
  return {.dtype = dtype,
          .shape = std::move(shape),
          .data = data,
          .byte_splits = nullptr,
          .bytes = nullptr,
          .owner = std::move(memory)};
}

Tensor Finisher::integers(Shape shape) {
  auto memory = pool_.lend(static_cast<std::size_t>(shape.count()) * sizeof(std::int64_t));
  std::byte* const data = memory.get();
  return {.dtype = DType::int64,
          .shape = std::move(shape),
          .data = data,
          .byte_splits = nullptr,
          .bytes = nullptr,
          .owner = std::move(memory)};
}

std::optional<Finisher::Failure> Finisher::lengths_of(const Output& output, columns::Pieces pieces, Made& made) {
  const auto unknown = static_cast<std::int64_t>(pieces.front()->shape.unknown());
  const Shape shape = unknown == 1 ? Shape{job_.layout.rows} : Shape{job_.layout.rows, unknown};
  if (auto failed = room(output, sizeof(std::int64_t), shape)) return failed;
  made.lengths = integers(shape);
  std::int64_t* next = made.lengths->as<std::int64_t>().data();
  each(pieces, [&](const Column& piece) { next = columns::copy_sizes(piece, next); });
  return std::nullopt;
}

std::optional<Finisher::Failure> Finisher::steps_after_batch(ColumnBlock& block) {
  const LayoutRows identities{job_.layout, program_.source, 0};
  StepContext context{.seed = program_.seed, .step = program_.late.size(), .rows = &identities, .stop = &pool_};
  for (const PlacedStep& placed : program_.after) {
    const auto since = std::chrono::steady_clock::now();
    for (const ColumnId id : placed.makes) {
      Column& column = block[id];
      if (column.fixed() && column.dtype != DType::string) column.set_rows(job_.layout.rows);
    }
    Result<void> done;
    if (auto thrown = catch_all([&] { done = placed.step->apply(block, context, placed.step->memory().get()); }))
      return Failure{thrown->at(fmt::format("batch {}, {}", job_.layout.number, placed.name))};
    if (clock_ != nullptr) clock_->add(context.step, std::chrono::steady_clock::now() - since);
    if (!done.ok()) return Failure{done.error().at(placed.name), done.error().place().row};
    ++context.step;
  }
  return std::nullopt;
}

namespace {

/// The shape that all rows of a column have, which a step behind the batcher made.
Result<Shape> shape_of_rows(const Column& column, const Output& output) {
  if (column.fixed()) return column.shape;
  if (column.rows == 0) {
    std::vector<std::int64_t> dims = column.shape.dims();
    std::ranges::replace(dims, unknown_dim, std::int64_t{0});
    return Shape{std::move(dims)};
  }
  Shape first = column.row_shape(0);
  for (std::int64_t row = 1; row < column.rows; ++row) {
    if (const Shape other = column.row_shape(row); !(other == first))
      return Error{
          Code::data, Detail::invalid_argument,
          fmt::format("tensor '{}' has rows of shape {} and of shape {}, and a step behind the batcher makes rows of "
                      "one shape; put the step before the batcher, which can pad them",
                      output.spec.name, first.text(), other.text()),
          Place{.row = row}};
  }
  return first;
}

}  // namespace

void Finisher::pin(Tensor& tensor) {
  const std::size_t bytes =
      tensor.dtype == DType::string ? 0 : static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype);
  if (bytes == 0) return;
  auto memory = pool_.lend_pinned(bytes);
  std::memcpy(memory.get(), tensor.data, bytes);
  tensor.data = memory.get();
  tensor.owner = std::move(memory);
}

std::optional<Finisher::Failure> Finisher::after_batch(Batch::Content& content) {
  content.values.clear();
  std::vector<Made> made(program_.batched.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (auto failed = make(i, made[i])) return failed;
  }
  const auto columns = std::make_shared<TicketColumns>();
  columns->block = columns_of(program_.schema, &pool_);
  ColumnBlock& block = columns->block;
  block.rows = job_.layout.rows;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Value& value = made[i].value;
    if (value.kind != Value::Kind::dense || value.values.dtype == DType::string)
      continue;  // the planner refuses steps on these outputs
    Column& column = block[program_.batched[i].id];
    const auto& dims = value.values.shape.dims();
    column.shape = Shape{std::vector<std::int64_t>(dims.begin() + 1, dims.end())};
    const std::size_t size = static_cast<std::size_t>(value.values.count()) * size_of(value.values.dtype);
    column.values.bind(value.values.data, size);
    column.set_rows(job_.layout.rows);
  }
  if (auto failed = steps_after_batch(block)) return failed;
  const auto add = [](std::int64_t sum, const Column& column) { return sum + owned_bytes(column); };
  columns->charge.set(pool_, std::accumulate(block.columns.begin(), block.columns.end(), std::int64_t{0}, add));
  needed_ += columns->charge.bytes();
  for (const Output& output : program_.outputs) {
    if (!output.after_batch) {
      const auto at = static_cast<std::size_t>(std::find_if(program_.batched.begin(), program_.batched.end(),
                                                            [&](const Output& each) { return each.id == output.id; }) -
                                               program_.batched.begin());
      content.values.push_back(made[at].value);
      content.lengths.push_back(made[at].lengths);
      continue;
    }
    Column& column = block[output.id];
    const auto shape = shape_of_rows(column, output);
    if (!shape.ok()) return Failure{shape.error()};
    Value value;
    value.values =
        Tensor{.dtype = column.dtype,
               .shape = with_rows(job_.layout.rows, *shape),
               .data = column.values.data(),
               .byte_splits = column.dtype == DType::string ? column.byte_splits.as<std::int64_t>() : nullptr,
               .bytes = column.bytes.data(),
               .owner = columns};
    if (pool_.pins()) pin(value.values);
    content.values.push_back(std::move(value));
    content.lengths.push_back(std::nullopt);
  }
  return std::nullopt;
}

}  // namespace forebay::engine
