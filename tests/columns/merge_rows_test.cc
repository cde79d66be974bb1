// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "columns/take/merge_rows.h"

namespace forebay::columns {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

struct NeverStops final : StopCheck {
  void look() const override {}
};

Column integers(const std::vector<std::int64_t>& values, std::int64_t per_row) {
  Column out{{.name = "x", .dtype = DType::int64, .shape = {per_row}}};
  const std::size_t bytes = values.size() * sizeof(std::int64_t);
  std::memcpy(out.values.resize(bytes), values.data(), bytes);
  out.rows = std::ssize(values) / per_row;
  return out;
}

Column strings(const std::vector<std::vector<std::string>>& rows) {
  Column out{{.name = "s", .dtype = DType::string, .shape = {unknown_dim}}};
  out.clear();
  for (const auto& row : rows) {
    for (const std::string& text : row) out.push_string(std::as_bytes(std::span{text}));
    const std::int64_t size = std::ssize(row);
    out.end_row({&size, 1});
  }
  return out;
}

std::vector<std::string> rows_as_text(const Column& column) {
  std::vector<std::string> out;
  for (std::int64_t row = 0; row < column.rows; ++row) {
    out.emplace_back();
    const auto splits = column.row_splits.as<std::int64_t>();
    for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) {
      const auto bytes = column.string(i);
      out.back() += std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()} + ";";
    }
  }
  return out;
}

TEST(MergeRows, FixedRowsGoToTheirPlacesAndTheRestIsFilled) {
  const Column a = integers({1, 2, 3, 4, 5, 6}, 2);
  Column to = integers(std::vector<std::int64_t>(10), 2);
  const std::vector<std::int64_t> of_a{10, 12, 13}, filled{11, 14};
  const std::int64_t nine = 9;
  merge_rows(std::vector<MergedRows>{{&a, of_a}, {nullptr, filled}}, {.first = 10, .count = 5},
             std::as_bytes(std::span{&nine, 1}), to, NeverStops{});
  const std::span values{to.values.as<std::int64_t>(), 10};
  EXPECT_THAT(values, ElementsAre(1, 2, 9, 9, 3, 4, 5, 6, 9, 9));
}

TEST(MergeRows, RowsOfAnySizeGoToTheirPlaces) {
  for (std::int64_t size = 1; size <= 70; ++size) {
    const auto column = [&](std::int64_t rows, int first) {
      Column out{{.name = "x", .dtype = DType::uint8, .shape = {size}}};
      std::byte* const bytes = out.values.resize(static_cast<std::size_t>(rows * size));
      for (std::int64_t i = 0; i < rows * size; ++i) bytes[i] = static_cast<std::byte>(first + i / size);
      out.rows = rows;
      return out;
    };
    const Column a = column(4, 1), b = column(3, 100);
    Column to = column(7, 0);
    const std::vector<std::int64_t> of_a{20, 22, 23, 26}, of_b{21, 24, 25};
    merge_rows(std::vector<MergedRows>{{&a, of_a}, {&b, of_b}}, {.first = 20, .count = 7}, {}, to, NeverStops{});
    std::vector<std::uint8_t> expected;
    for (const std::uint8_t value : std::array<std::uint8_t, 7>{1, 100, 2, 3, 101, 102, 4})
      expected.insert(expected.end(), size, value);
    const std::span values{to.values.as<std::uint8_t>(), expected.size()};
    EXPECT_THAT(values, ElementsAreArray(expected)) << size;
  }
}

TEST(MergeRows, RowsOfUnknownLengthAreAppendedInOrderAndFilledRowsAreEmpty) {
  const Column a = strings({{"a", "bc"}, {}});
  const Column b = strings({{"d"}});
  Column to = strings({});
  const std::vector<std::int64_t> of_a{0, 3}, of_b{2}, filled{1};
  merge_rows(std::vector<MergedRows>{{&a, of_a}, {&b, of_b}, {nullptr, filled}}, {.first = 0, .count = 4}, {}, to,
             NeverStops{});
  EXPECT_THAT(rows_as_text(to), ElementsAre("a;bc;", "", "d;", ""));
}

TEST(MergeRows, ARowOfKnownShapeGoesIntoAColumnOfUnknownLength) {
  const Column a = integers({1, 2}, 2);
  Column to{{.name = "x", .dtype = DType::int64, .shape = {unknown_dim}}};
  to.clear();
  const std::vector<std::int64_t> row{0};
  merge_rows(std::vector<MergedRows>{{&a, row}}, {.first = 0, .count = 1}, {}, to, NeverStops{});
  EXPECT_EQ(to.rows, 1);
  EXPECT_EQ(to.row_shape(0), Shape{2});
}

}  // namespace
}  // namespace forebay::columns
