// SPDX-License-Identifier: Apache-2.0
#include "steps/one_row.h"

#include <memory>
#include <string>
#include <utility>

namespace forebay::steps {

Result<OneRow> OneRow::run(const StepType& type, Json options, ColumnSpec in,
                           const std::function<void(Column&)>& fill) {
  options.set("tensor", Json{in.name});
  Schema schema;
  const ColumnId id = schema.put(std::move(in));
  FOREBAY_TRY(Bound<Step> step, type.bind(options, schema));
  ColumnBlock block;
  block.rows = 1;
  for (std::size_t i = 0; i < step.out.size(); ++i) {
    block.columns.emplace_back(step.out[static_cast<ColumnId>(i)]);
    if (Column& column = block.columns.back(); column.fixed() && column.dtype != DType::string) column.set_rows(1);
  }
  fill(block[id]);
  const auto memory = step.op->memory();
  if (const auto done = step.op->apply(block, {}, memory.get()); !done.ok())
    return Error{done.error().code(), done.error().detail(), done.error().message()};  // its place means nothing here
  return OneRow{std::move(step.out), std::move(block)};
}

Tensor OneRow::take(std::string_view name) {
  const ColumnId id = *schema_.find(name);
  auto kept = std::make_shared<Column>(std::move(block_[id]));
  Tensor out{.dtype = kept->dtype, .shape = kept->row_shape(0), .data = kept->values.data()};
  out.owner = std::move(kept);
  return out;
}

}  // namespace forebay::steps
