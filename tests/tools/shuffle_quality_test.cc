// SPDX-License-Identifier: Apache-2.0
#include "tools/shuffle_quality.h"

#include <cmath>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

using Order = std::vector<std::pair<std::uint32_t, std::int64_t>>;

ShuffleQuality quality_of(const std::vector<std::int64_t>& counts, const Order& order) {
  ShuffleMeasure measure{counts};
  for (const auto& [file, record] : order) measure.add(file, record);
  return measure.result();
}

TEST(ShuffleMeasure, FileOrderIsNotDisplaced) {
  const ShuffleQuality quality = quality_of({2, 0, 2}, {{0, 0}, {0, 1}, {2, 0}, {2, 1}});
  EXPECT_EQ(std::make_pair(quality.rows, quality.files), std::make_pair(std::int64_t{4}, std::int64_t{3}));
  EXPECT_EQ(std::make_pair(quality.displacement, quality.of_uniform), std::make_pair(0.0, 0.0));
  EXPECT_DOUBLE_EQ(*quality.file_correlation, 0.5);  // of 0 0 2 with 0 2 2
}

TEST(ShuffleMeasure, ReversedOrderIsHalfAsMuchAgainAsUniform) {
  const ShuffleQuality quality = quality_of({4}, {{0, 3}, {0, 2}, {0, 1}, {0, 0}});
  EXPECT_DOUBLE_EQ(quality.displacement, (3 + 1 + 1 + 3) / 4.0 / 4.0);
  EXPECT_DOUBLE_EQ(quality.of_uniform, 0.5 / (15 / 48.0));
  EXPECT_EQ(quality.file_correlation, std::nullopt);  // one file
}

TEST(ShuffleMeasure, AlternatingFilesAreNegativelyCorrelated) {
  const ShuffleQuality quality = quality_of({3, 3}, {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}});
  EXPECT_DOUBLE_EQ(*quality.file_correlation, -1.0);
}

TEST(ShuffleMeasure, NoRowsAndOneRowHaveNothingToShuffle) {
  for (const Order& order : {Order{}, Order{{0, 0}}}) {
    const ShuffleQuality quality = quality_of({1}, order);
    EXPECT_EQ(quality.displacement, 0.0);
    EXPECT_EQ(quality.file_correlation, std::nullopt);
  }
}

TEST(Correlation, FarFromZeroLosesNoDigits) {
  Correlation correlation;
  for (int i = 0; i < 1000; ++i) correlation.add(1e9 + i % 7, 1e9 - i % 7);
  EXPECT_NEAR(*correlation.value(), -1.0, 1e-12);
}

}  // namespace
}  // namespace forebay::engine
