// SPDX-License-Identifier: Apache-2.0
// Expressions: any text is accepted or refused with a place, and one that binds has a value or a fault for every row.
#include <limits>

#include "expression/expression.h"
#include "fuzz/check.h"

namespace {

using forebay::Column;
using forebay::ColumnBlock;
using forebay::ColumnSpec;
using forebay::DType;
using forebay::Schema;

constexpr std::int64_t rows = 4;

template <class T>
void fill(Column& column, std::initializer_list<T> values) {
  column.set_rows(rows);
  std::copy(values.begin(), values.end(), column.values.as<T>());
}

void push_text(Column& column, std::string_view text) { column.push_string(std::as_bytes(std::span{text})); }

Schema schema() {
  Schema out;
  out.put({.name = "i", .dtype = DType::int64});
  out.put({.name = "u", .dtype = DType::uint64});
  out.put({.name = "r", .dtype = DType::float32});
  out.put({.name = "b", .dtype = DType::boolean});
  out.put({.name = "s", .dtype = DType::string});
  out.put({.name = "v", .dtype = DType::int64, .shape = {forebay::unknown_dim}});
  out.put({.name = "w", .dtype = DType::string, .shape = {2, forebay::unknown_dim}});
  return out;
}

ColumnBlock columns(const Schema& schema) {
  ColumnBlock block;
  block.rows = rows;
  for (std::size_t id = 0; id < schema.size(); ++id)
    block.columns.emplace_back(schema[static_cast<forebay::ColumnId>(id)]);
  for (Column& column : block.columns) column.clear();
  using Limits = std::numeric_limits<std::int64_t>;
  fill<std::int64_t>(block[0], {0, -1, Limits::min(), Limits::max()});
  fill<std::uint64_t>(block[1], {0, 1, std::uint64_t{1} << 63U, ~std::uint64_t{0}});
  fill<float>(block[2], {0.0F, -1.5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()});
  fill<std::uint8_t>(block[3], {0, 1, 0, 255});
  for (const std::string_view text : {"", "a", "abc", "b\xff"}) push_text(block[4], text);
  block[4].rows = rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < row; ++i) block[5].values.push(i);
    block[5].end_row({&row, 1});
    for (std::int64_t i = 0; i < 2 * row; ++i) push_text(block[6], "x");
    block[6].end_row({&row, 1});
  }
  return block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace expression = forebay::expression;
  using forebay::fuzz::check;
  static const Schema known = schema();
  static const ColumnBlock block = columns(known);
  const auto tree = expression::parse(forebay::fuzz::text_of(data, size));
  if (!tree.ok()) {
    check(!tree.error().message().empty(), "a refusal says why");
    return 0;
  }
  check(!tree->nodes.empty() && tree->nodes.back().depth <= expression::max_depth, "the depth is limited");
  const auto bound = expression::bind(*tree, known);
  if (!bound.ok()) return 0;
  std::vector<expression::RowFault> faults;
  const expression::Values values = bound->evaluate(block, faults);
  const std::size_t count = values.constant ? 1 : rows;
  const std::size_t sizes[] = {values.booleans.size(), values.integers.size(), values.reals.size(),
                               values.strings.size()};
  for (std::size_t type = 0; type < std::size(sizes); ++type) {
    check(sizes[type] == (type == static_cast<std::size_t>(values.type) ? count : 0), "one vector has all values");
  }
  check(values.type == bound->type(), "the values are of the type that was promised");
  for (std::size_t i = 0; i < faults.size(); ++i) {
    check(faults[i].row >= 0 && faults[i].row < rows, "a fault names a row");
    check(i == 0 || faults[i - 1].row < faults[i].row, "a row has one fault at most");
  }
  return 0;
}
