// SPDX-License-Identifier: Apache-2.0
#include "steps/output.h"

#include <fmt/core.h>

namespace forebay::steps {

Result<ColumnId> find_dense(const Schema& schema, std::string_view name) {
  FOREBAY_TRY(const ColumnId id, schema.find(name));
  const ColumnSpec& spec = schema[id];
  if (!spec.parts.empty()) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("tensor '{}' is sparse or a list of lists; this needs one array per row", name)};
  }
  if (spec.shape.rank() > columns::max_rank) {
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("tensor '{}' has {} axes; at most {} are allowed", name, spec.shape.rank(), columns::max_rank)};
  }
  if (spec.shape.count() > max_elements) {
    return Error{Code::config, Detail::resource_exhausted,
                 fmt::format("a row of tensor '{}' of shape {} has more than {} elements", name, spec.shape.text(),
                             max_elements)};
  }
  return id;
}

Result<void> check_new_name(std::string_view name, const Schema& schema) {
  if (name.empty()) return refusal("a tensor's name must not be empty");
  if (!schema.find(name).ok()) return {};
  std::string free;
  for (int i = 2; free.empty() || schema.find(free).ok(); ++i) free = fmt::format("{}_{}", name, i);
  return refusal(fmt::format("there is already a tensor '{}'; choose another name, '{}' is free", name, free));
}

Error refusal(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

Result<void> begin_output(Column& out, Shape shape, std::int64_t rows) {
  if (out.shape != shape) out.shape = std::move(shape);
  if (!out.fixed() || out.dtype == DType::string) {
    out.clear();
    if (out.fixed()) out.rows = rows;
    return {};
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, static_cast<std::int64_t>(size_of(out.dtype)), &bytes) ||
      __builtin_mul_overflow(bytes, out.shape.count(), &bytes)) {
    return Error{Code::data, Detail::resource_exhausted,
                 fmt::format("{} rows of shape {} are more than memory can address", rows, out.shape.text())};
  }
  out.set_rows(rows);
  return {};
}

RowSizes::RowSizes(const Column& column, std::int64_t row) : rank_{column.shape.rank()} {
  const auto unknown = static_cast<std::int64_t>(column.shape.unknown());
  const std::int64_t* next = column.dims.as<std::int64_t>() + row * unknown;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    const std::int64_t dim = column.shape[axis];
    sizes_[axis] = dim == unknown_dim ? *next++ : dim;
  }
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t out = 1;
  for (const std::int64_t size : sizes) out *= size;
  return out;
}

Error data_fault(std::string_view name, std::int64_t row, std::string message) {
  return Error{Code::data, Detail::invalid_argument, std::move(message), {.feature = std::string{name}, .row = row}};
}

namespace {

/// A step that does nothing when it runs, for steps that change at most the schema.
/// The plan owns the step. It is immutable: any number of workers call it at once.
class NoWork final : public Step {
 public:
  Result<void> apply(ColumnBlock&, const StepContext&, StepMemory*) const override { return {}; }
};

}  // namespace

std::unique_ptr<Step> no_work() { return std::make_unique<NoWork>(); }

}  // namespace forebay::steps
