// SPDX-License-Identifier: Apache-2.0
#include "columns/take/strided_rows.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/guarded.h"

namespace forebay::columns {
namespace {

using testing::Guarded;
using Int64s = std::vector<std::int64_t>;

/// A random array within a guarded memory.
struct RandomArray {
  DType dtype;
  Int64s sizes, strides;
  std::vector<std::byte> bytes;
  std::int64_t offset = 0;
  bool swapped;

  explicit RandomArray(std::mt19937_64& random) {
    const auto below = [&](int bound) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(bound)); };
    dtype = static_cast<DType>(below(static_cast<int>(DType::string)));
    swapped = below(2) == 1;
    const auto item = static_cast<std::int64_t>(size_of(dtype));
    std::int64_t low = 0, high = item;
    for (std::int64_t axis = 0, rank = 1 + below(4); axis < rank; ++axis) {
      sizes.push_back(below(10) == 0 ? 0 : 1 + below(5));
      strides.push_back(below(3) == 0 ? item * (below(9) - 4) : below(61) - 30);
    }
    if (below(2) == 0) {  // axes that continue each other
      std::int64_t next = item;
      for (std::size_t axis = sizes.size(); axis-- > 0; next *= sizes[axis]) strides[axis] = next;
    }
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const std::int64_t reach = std::max<std::int64_t>(sizes[axis] - 1, 0) * strides[axis];
      (reach < 0 ? low : high) += reach;
    }
    offset = -low;
    bytes.resize(static_cast<std::size_t>(high - low));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }

  /// Rows `first` … of the array, item by item.
  [[nodiscard]] std::vector<std::byte> rows(std::int64_t first, std::int64_t count) const {
    std::vector<std::byte> out;
    const auto walk = [&](auto& self, std::size_t axis, std::int64_t at) -> void {
      if (axis == sizes.size()) return item(at, out);
      for (std::int64_t i = 0; i < (axis == 0 ? count : sizes[axis]); ++i)
        self(self, axis + 1, at + (axis == 0 ? first + i : i) * strides[axis]);
    };
    walk(walk, 0, offset);
    return out;
  }
  void item(std::int64_t at, std::vector<std::byte>& out) const {
    const std::size_t size = size_of(dtype);
    const std::size_t word = is_complex(dtype) ? size / 2 : size;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t from = swapped ? i / word * word + word - 1 - i % word : i;
      out.push_back(bytes[static_cast<std::size_t>(at) + from]);
    }
  }
};

TEST(StridedRows, EqualItemByItemCopiesForRandomArraysAtTheEdgeOfTheirMemory) {
  std::mt19937_64 random{7};
  for (int round = 0; round < 4000; ++round) {
    const RandomArray array{random};
    const Guarded memory{array.bytes};
    const auto rows = StridedRows::make({.dtype = array.dtype,
                                         .sizes = array.sizes,
                                         .strides = array.strides,
                                         .memory = memory.bytes(),
                                         .offset = array.offset,
                                         .swapped = array.swapped});
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(array.sizes[0] + 1));
    const std::int64_t count = array.sizes[0] - first;
    const std::vector<std::byte> expected = array.rows(first, count);
    Guarded out{std::vector<std::byte>(expected.size())};
    ASSERT_EQ(expected.size(), static_cast<std::size_t>(count) * rows->row_bytes());
    ASSERT_TRUE(rows->gather_strided(first, count, out.writable().data()).ok());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.bytes().begin())) << "round " << round;
  }
}

TEST(StridedRows, AZeroStrideRepeatsAnItemAndANegativeOneGoesBack) {
  const std::vector<std::int16_t> in{1, 2, 3};
  const Int64s sizes{2, 3}, strides{0, -2};
  const auto rows = StridedRows::make(
      {.dtype = DType::int16, .sizes = sizes, .strides = strides, .memory = std::as_bytes(std::span{in}), .offset = 4});
  ASSERT_TRUE(rows.ok());
  std::vector<std::int16_t> out(6);
  ASSERT_TRUE(rows->gather_strided(0, 2, reinterpret_cast<std::byte*>(out.data())).ok());
  EXPECT_THAT(out, ::testing::ElementsAre(3, 2, 1, 3, 2, 1));
}

TEST(StridedRows, ThatReachOutOfTheirMemoryAreRefused) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::byte> memory(16);
  const auto fault = [&](Int64s sizes, Int64s strides, std::int64_t offset = 0, DType dtype = DType::int32) {
    const auto rows =
        StridedRows::make({.dtype = dtype, .sizes = sizes, .strides = strides, .memory = memory, .offset = offset});
    return rows.ok() ? "none" : rows.error().message();
  };
  EXPECT_EQ(fault({4}, {4}), "none");
  EXPECT_EQ(fault({0, 9}, {99, 99}), "none");
  EXPECT_EQ(fault({5}, {4}), "the items of the array lie in bytes 0 … 20, but the memory has 16");
  EXPECT_EQ(fault({2}, {-4}), "the items of the array lie in bytes -4 … 4, but the memory has 16");
  EXPECT_EQ(fault({4}, {4}, 1), "the items of the array lie in bytes 1 … 17, but the memory has 16");
  EXPECT_EQ(fault({2}, {huge}), "the strides of the array lead too far");
  EXPECT_EQ(fault({3}, {-huge}), "the strides of the array lead too far");
  EXPECT_EQ(fault({huge, huge}, {0, 0}), "the array has too many items");
  EXPECT_EQ(fault({0, huge, huge}, {0, 0, 0}), "the array has too many items");
  EXPECT_EQ(fault({-1}, {4}), "an axis has -1 items");
  EXPECT_EQ(fault({}, {}), "0 sizes and 0 strides, expected as many of both, 1 to 16");
  EXPECT_EQ(fault({4}, {4}, 0, DType::string), "strings have no strides");
  const auto rows = StridedRows::make({.sizes = Int64s{4}, .strides = Int64s{4}, .memory = memory});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->gather_strided(2, 3, nullptr).error().message(), "3 rows from 2 of an array that has 4");
  EXPECT_FALSE(rows->gather_strided(-1, 1, nullptr).ok());
  EXPECT_FALSE(rows->gather_strided(1, huge, nullptr).ok());
}

}  // namespace
}  // namespace forebay::columns
