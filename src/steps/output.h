// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/plugin.h>

#include "columns/strided.h"

/// Helpers of most steps: finding a tensor, beginning an output column, reading the sizes of a row.
namespace forebay::steps {

/// Limit of the elements of one row of a tensor.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 31;

/// The visible tensor `name`, which must be one array: no companion columns, at most max_rank axes, at most
/// max_elements in a row.
[[nodiscard]] Result<ColumnId> find_dense(const Schema& schema, std::string_view name);

/// Fails when a new tensor cannot have that name: the name is empty or taken.
[[nodiscard]] Result<void> check_new_name(std::string_view name, const Schema& schema);

/// A fault of a step's options.
[[nodiscard]] Error refusal(std::string message);

/// Prepares an output column for `rows` rows of `shape`. A fixed numeric column then has its rows, with unset values. A
/// fixed string column has its number of rows; the step appends the elements. A variable column is empty; the step
/// appends elements and rows.
[[nodiscard]] Result<void> begin_output(Column& out, Shape shape, std::int64_t rows);

/// The true sizes of one row of a column.
class RowSizes {
 public:
  RowSizes(const Column& column, std::int64_t row);
  [[nodiscard]] std::span<const std::int64_t> all() const { return {sizes_.data(), rank_}; }

 private:
  std::array<std::int64_t, columns::max_rank> sizes_;
  std::size_t rank_;
};

/// The product of `sizes`.
[[nodiscard]] std::int64_t product(std::span<const std::int64_t> sizes);

/// A fault of the data in tensor `name`. Row -1: the fault is not about one row.
[[nodiscard]] Error data_fault(std::string_view name, std::int64_t row, std::string message);

/// A step that only changes the schema.
[[nodiscard]] std::unique_ptr<Step> no_work();

}  // namespace forebay::steps
