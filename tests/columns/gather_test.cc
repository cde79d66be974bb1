// SPDX-License-Identifier: Apache-2.0
#include "columns/gather.h"

#include <cstring>

#include <gtest/gtest.h>

namespace forebay::columns {
namespace {

using Row = std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>>;  // sizes, elements

Column column_of(const Shape& shape, const std::vector<Row>& rows) {
  Column out{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = shape}};
  for (const auto& [sizes, elements] : rows) {
    for (const std::int32_t element : elements) out.values.push(element);
    out.end_row(sizes);
  }
  return out;
}

std::vector<std::int32_t> padded(const std::vector<Column>& columns, const Shape& shape, std::int32_t filler) {
  std::int64_t rows = 0;
  for (const Column& column : columns) rows += column.rows;
  std::vector<std::int32_t> out(static_cast<std::size_t>(rows * shape.count()));
  std::vector<std::byte> element(sizeof(filler));
  std::memcpy(element.data(), &filler, sizeof(filler));
  auto* next = reinterpret_cast<std::byte*>(out.data());
  for (const Column& column : columns) next = pad(column, shape, element, next);
  EXPECT_EQ(next, reinterpret_cast<std::byte*>(out.data() + out.size()));
  return out;
}

TEST(Pad, FillsTheHighSideOfTheOnlyAxis) {
  std::vector<Column> pieces;
  pieces.push_back(column_of({unknown_dim}, {{{1}, {1}}, {{2}, {2, 3}}}));
  pieces.push_back(column_of({unknown_dim}, {{{0}, {}}}));
  EXPECT_EQ(padded(pieces, {2}, 0), (std::vector<std::int32_t>{1, 0, 2, 3, 0, 0}));
  EXPECT_EQ(padded(pieces, {4}, -1), (std::vector<std::int32_t>{1, -1, -1, -1, 2, 3, -1, -1, -1, -1, -1, -1}));
}

TEST(Pad, FillsTheHighSideOfEveryAxis) {
  std::vector<Column> pieces;
  pieces.push_back(column_of({unknown_dim, unknown_dim}, {{{1, 2}, {1, 2}}, {{2, 1}, {3, 4}}}));
  EXPECT_EQ(padded(pieces, {2, 3}, 9), (std::vector<std::int32_t>{1, 2, 9, 9, 9, 9, 3, 9, 9, 4, 9, 9}));
}

TEST(Pad, StepsOfMoreThanOneElementStayTogether) {
  std::vector<Column> pieces;
  pieces.push_back(column_of({unknown_dim, 2}, {{{1}, {1, 2}}, {{2}, {3, 4, 5, 6}}}));
  EXPECT_EQ(padded(pieces, {3, 2}, 0), (std::vector<std::int32_t>{1, 2, 0, 0, 0, 0, 3, 4, 5, 6, 0, 0}));
}

TEST(PadStrings, FillsWithTheGivenText) {
  Column column{ColumnSpec{.name = "s", .dtype = DType::string, .shape = {unknown_dim}}};
  const std::string text = "abc";
  column.push_string(std::as_bytes(std::span{text}));
  column.end_row(std::vector<std::int64_t>{1});
  column.end_row(std::vector<std::int64_t>{0});
  const std::string filler = "-";
  std::string joined(6, '?');
  std::vector<std::int64_t> ends(4);
  StringsOut out{.bytes = reinterpret_cast<std::byte*>(joined.data()), .ends = ends.data()};
  pad_strings(column, {2}, std::as_bytes(std::span{filler}), out);
  EXPECT_EQ(joined, "abc---");
  EXPECT_EQ(out.size, 6);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{3, 4, 5, 6}));
}

TEST(LargestSizes, IsTheMaximumOfEachUnknownDim) {
  const Column column = column_of({unknown_dim, 2, unknown_dim}, {{{1, 3}, {}}, {{2, 1}, {}}});
  const Column* piece = &column;
  EXPECT_EQ(largest_sizes({&piece, 1}), (std::vector<std::int64_t>{2, 3}));
}

TEST(FirstUnequal, NamesTheFirstRowThatDiffersFromRowZero) {
  const Column a = column_of({unknown_dim}, {{{2}, {1, 2}}, {{2}, {3, 4}}});
  const Column b = column_of({unknown_dim}, {{{1}, {5}}});
  const std::vector<const Column*> both{&a, &b};
  EXPECT_EQ(first_unequal(both), 2);
  EXPECT_EQ(first_unequal(std::span{both}.first(1)), -1);
}

TEST(CopyStrings, ShiftsTheSplitsOfLaterPieces) {
  std::vector<Column> columns;
  for (const std::string text : {"ab", "c"}) {
    Column& column = columns.emplace_back(ColumnSpec{.name = "s", .dtype = DType::string, .shape = {}});
    column.push_string(std::as_bytes(std::span{text}));
    column.rows = 1;
  }
  std::vector<std::int64_t> ends(2);
  std::string bytes(3, ' ');
  StringsOut out{.bytes = reinterpret_cast<std::byte*>(bytes.data()), .ends = ends.data()};
  for (const Column& column : columns) copy_strings(column, out);
  EXPECT_EQ(out.ends, ends.data() + 2);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(bytes, "abc");
}

}  // namespace
}  // namespace forebay::columns
