// SPDX-License-Identifier: Apache-2.0
#include "columns/take/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "columns/take/elements.h"

namespace forebay::columns {
namespace {

using ::testing::ElementsAre;

/// Three frames at 0, and two at 4 with one frame of padding on the left.
const std::vector<PlacedSpan> two_spans{{.length = 3}, {.element = 1, .length = 2, .pad_left = 1, .at = 4}};

TEST(Segments, NumberTheFramesOfEachSpan) {
  EXPECT_EQ(row_frames(two_spans), 7);
  std::vector<std::int32_t> frames(8, 9);
  segment_ids(two_spans, frames);
  EXPECT_THAT(frames, ElementsAre(1, 1, 1, 0, 0, 2, 2, 0));
  frames.assign(8, 9);
  segment_positions(two_spans, frames);
  EXPECT_THAT(frames, ElementsAre(0, 1, 2, 0, 0, 0, 1, 0));
  std::vector<std::int32_t> starts(3);
  segment_starts(two_spans, starts);
  EXPECT_THAT(starts, ElementsAre(0, 4, 7));
}

TEST(Segments, EndWhereTheFramesEnd) {
  std::vector<std::int32_t> frames(6, 9);
  segment_ids(two_spans, frames);
  EXPECT_THAT(frames, ElementsAre(1, 1, 1, 0, 0, 2));
  frames.assign(2, 9);
  segment_positions(two_spans, frames);
  EXPECT_THAT(frames, ElementsAre(0, 1));
}

TEST(Segments, OfAnEmptyRowAreNone) {
  EXPECT_EQ(row_frames({}), 0);
  std::vector<std::int32_t> starts(1, 9);
  segment_starts({}, starts);
  EXPECT_THAT(starts, ElementsAre(0));
}

TEST(PlainRows, AreNativeAndWithoutGaps) {
  const Shape shape{3, 2};
  EXPECT_TRUE(plain({.row_stride = 24}, DType::float32, shape));
  EXPECT_TRUE(plain({.row_stride = 24, .strides = {8, 4}}, DType::float32, shape));
  EXPECT_FALSE(plain({.row_stride = 24, .swapped = true}, DType::float32, shape));
  EXPECT_FALSE(plain({.row_stride = 48}, DType::float32, shape));
  EXPECT_FALSE(plain({.row_stride = 24, .strides = {4, 12}}, DType::float32, shape));
  EXPECT_TRUE(plain({.row_stride = 8, .strides = {999, 4}}, DType::float32, {1, 2})) << "of an axis of one item";
  EXPECT_TRUE(plain({}, DType::string, shape));
  EXPECT_TRUE(plain({}, DType::float32, {unknown_dim})) << "rows of unknown size have no gaps";
}

TEST(PlainRows, AreElements) {
  const std::int64_t splits[] = {0, 2, 2, 5}, dims[] = {2, 0, 3};
  const std::int16_t values[] = {1, 2, 3, 4, 5};
  const Elements elements =
      Elements::of(RowColumn{.data = reinterpret_cast<const std::byte*>(values), .row_splits = splits, .dims = dims}, 3,
                   DType::int16, Shape{unknown_dim});
  EXPECT_EQ(elements.rows(), 3);
  EXPECT_EQ(elements[0].frames, 2);
  EXPECT_EQ(elements[1].frames, 0);
  EXPECT_EQ(elements[2].first, 2);
  EXPECT_EQ(elements[2].frames, 3);
}

}  // namespace
}  // namespace forebay::columns
