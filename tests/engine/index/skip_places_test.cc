// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/index/made_index.h"

namespace forebay::engine {
namespace {

Skip skip(Skip::What what, std::int64_t offset) {
  return {.what = what, .offset = offset, .bytes = 50, .error = Error{Code::data, Detail::data_loss, "corrupt"}};
}

// Records 0, 2 and 3 of the file are good, 1 and 4 are not, and a range lies between 2 and 3.
TEST(SkipPlaces, AreAmongTheRecordsOfTheIndexAndCountThoseThatItLeavesOut) {
  RecordIndexBuilder builder{"frames"};
  const std::vector<Extent> good{{12, 50}, {200, 50}, {330, 50}};
  builder.add(good, 0);
  const auto index = builder.finish({.identity = {.size = 500}, .bytes = 500}, {});
  ASSERT_TRUE(index.ok()) << index.error().text();
  const std::vector<Skip> skips{skip(Skip::What::record, 66), skip(Skip::What::range, 254),
                                skip(Skip::What::record, 384)};
  const SkipPlaces places = places_of(**index, skips);
  EXPECT_EQ(places.before, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(places.left_out, (std::vector<std::int64_t>{1, 4}));
}

TEST(SkipPlaces, OfAFileWithoutSkipsAreNone) {
  const auto index = RecordIndexBuilder{"frames"}.finish({}, {});
  ASSERT_TRUE(index.ok()) << index.error().text();
  EXPECT_TRUE(places_of(**index, {}).before.empty());
}

}  // namespace
}  // namespace forebay::engine
