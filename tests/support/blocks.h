// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <forebay/plugin.h>

/// Column blocks as JSON: an object tensor → list of rows, the form of the steps' worked examples.
///
/// The element type is inferred: integers are int64, numbers with a decimal point float32 (integers among them too),
/// text is string, true and false are bool; a tensor without any element is float32. A dim that is the same in every
/// row is known, one that differs is unknown and makes a variable column. A tensor may also be written
/// {"rows": […], "dtype": "int16", "shape": [-1, 2]}; `dtype` and `shape` (of a row) then replace what is inferred.
namespace forebay::test {

/// Adds the tensors to `schema` and returns the block that holds them. Throws std::invalid_argument when `tensors` has
/// another form, the tensors differ in their number of rows, or a row is not rectangular.
[[nodiscard]] ColumnBlock block_from_json(const Json& tensors, Schema& schema);

/// Returns the visible tensors of `schema`, in its order. Floats are numbers, written as short as the type allows, and
/// the strings "nan", "inf", "-inf" when they are not finite.
[[nodiscard]] Json block_to_json(const ColumnBlock& block, const Schema& schema);

/// Adds to `block` the columns of `schema` that it lacks, as the engine does before a step: fixed numeric ones
/// have their rows (filled with 0xCD bytes), the others are empty.
void add_columns(ColumnBlock& block, const Schema& schema);

/// Binds a step to the tensors in `in`, applies it, and returns the resulting tensors. Both texts are JSON.
[[nodiscard]] Result<Json> run_step(const StepType& type, std::string_view options, std::string_view in);

}  // namespace forebay::test
