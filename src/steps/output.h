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

/// What most steps need: to find their tensor, to begin the column they make, to know the sizes of a row.
namespace forebay::steps {

/// The most elements that one row of a tensor may have.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 31;

/// The visible tensor `name`, which must be one array: no companion columns, at most max_rank axes, at most
/// max_elements in a row.
[[nodiscard]] Result<ColumnId> find_dense(const Schema& schema, std::string_view name);

/// Fails when a new tensor cannot have that name: it is empty, or another one has it.
[[nodiscard]] Result<void> check_new_name(std::string_view name, const Schema& schema);

/// A fault of a step's options.
[[nodiscard]] Error refusal(std::string message);

/// Readies the column a step made for `rows` rows of `shape`. Afterwards a fixed numeric one has its rows, unset;
/// a fixed string one has its number of rows and waits for its elements; a variable one waits for elements and rows.
[[nodiscard]] Result<void> begin_output(Column& out, Shape shape, std::int64_t rows);

/// The sizes that one row of a column really has.
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

/// A fault of the data in tensor `name`; row -1 when it is in no particular one.
[[nodiscard]] Error data_fault(std::string_view name, std::int64_t row, std::string message);

/// The step of those that only change the schema.
[[nodiscard]] std::unique_ptr<Step> no_work();

}  // namespace forebay::steps
