// SPDX-License-Identifier: Apache-2.0
#include "columns/take/column_rows.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::columns {
namespace {

/// Five rows of strings, of which each has as many as its number.
Column texts() {
  Column out{{.name = "x", .dtype = DType::string, .shape = {unknown_dim}}};
  for (std::int64_t row = 0; row < 5; ++row) {
    for (std::int64_t i = 0; i < row; ++i) {
      const std::string text = std::string(static_cast<std::size_t>(i), 'a') + std::to_string(row);
      out.push_string(std::as_bytes(std::span{text}));
    }
    out.end_row(std::vector<std::int64_t>{row});
  }
  return out;
}

std::vector<std::vector<std::string>> texts_of(const Column& column) {
  std::vector<std::vector<std::string>> out;
  const std::int64_t* const splits = column.row_splits.as<std::int64_t>();
  for (std::int64_t row = 0; row < column.rows; ++row) {
    out.emplace_back();
    EXPECT_EQ(column.row_shape(row), Shape{splits[row + 1] - splits[row]});
    for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) {
      const auto bytes = column.string(i);
      out.back().emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }
  return out;
}

using Rows = std::vector<std::vector<std::string>>;

TEST(ColumnRows, AreCutOffAppendedAndLeftOut) {
  Column column = texts();
  truncate(column, 3);
  EXPECT_EQ(texts_of(column), (Rows{{}, {"1"}, {"2", "a2"}}));
  append_blank(column, 1);
  append_blank(column, 1, std::vector<std::int64_t>{2});
  EXPECT_EQ(texts_of(column), (Rows{{}, {"1"}, {"2", "a2"}, {}, {"", ""}}));
  append_rows(texts(), 3, 4, column);
  remove_rows(column, std::vector<std::int64_t>{0, 2, 3});
  EXPECT_EQ(texts_of(column), (Rows{{"1"}, {"", ""}, {"3", "a3", "aa3"}}));
}

TEST(ColumnRows, OfAViewAreThoseOfTheColumn) {
  Column column = texts();
  Column view = empty_like(column);
  view_rows(column, 1, 2, view);
  EXPECT_EQ(texts_of(view), (Rows{{"1"}, {"2", "a2"}}));
  view_rows(column, 3, 2, view);  // and again
  EXPECT_EQ(texts_of(view), (Rows{{"3", "a3", "aa3"}, {"4", "a4", "aa4", "aaa4"}}));
  Column copy = empty_like(column);
  append_rows(view, 0, 2, copy);
  EXPECT_EQ(texts_of(copy), texts_of(view));
}

TEST(ColumnRows, OfNumbersKeepTheirShape) {
  Column column{{.name = "x", .dtype = DType::int16, .shape = {2}}};
  column.set_rows(4);
  for (std::int16_t i = 0; i < 8; ++i) column.values.as<std::int16_t>()[i] = i;
  remove_rows(column, std::vector<std::int64_t>{1, 3});
  append_blank(column, 1);
  const auto values = column.values.span<std::int16_t>();
  EXPECT_EQ(column.rows, 3);
  EXPECT_EQ(std::vector(values.begin(), values.end()), (std::vector<std::int16_t>{0, 1, 4, 5, 0, 0}));
}

}  // namespace
}  // namespace forebay::columns
