// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include <forebay/batch.h>
#include <forebay/plugin.h>

/// Steps as functions: one value in, one value out.
namespace forebay::steps {

/// A step that was applied to one row.
class OneRow {
 public:
  /// Binds the step to one column `in`, whose row `fill` writes, and applies it. `options` are those of a document;
  /// their `tensor` is replaced by the column's name. An error has no place in the data.
  [[nodiscard]] static Result<OneRow> run(const StepType& type, Json options, ColumnSpec in,
                                          const std::function<void(Column&)>& fill);
  /// The row of that column, with its memory; to be called once for each column.
  [[nodiscard]] Tensor take(std::string_view name);

 private:
  OneRow(Schema schema, ColumnBlock block) : schema_{std::move(schema)}, block_{std::move(block)} {}

  Schema schema_;
  ColumnBlock block_;
};

}  // namespace forebay::steps
