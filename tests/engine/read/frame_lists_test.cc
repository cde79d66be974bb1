// SPDX-License-Identifier: Apache-2.0
#include "engine/read/frames/frame_lists.h"

#include <array>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

constexpr std::size_t attributes = 2;

/// Lists of records with these numbers of frames; frame i of all has the integers `10 * i` and `10 * i + 1`.
FrameLists lists_of(const std::vector<std::int64_t>& frames) {
  FrameLists out{attributes, false};
  for (const std::int64_t count : frames) {
    const std::size_t first = out.add_record(count);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(count); ++i) {
      for (std::size_t number = 0; number < attributes; ++number)
        out.set(i, number, static_cast<std::int64_t>(10 * i + number));
    }
  }
  return out;
}

/// The first integer of each frame of each record.
std::vector<std::vector<std::int64_t>> all(const FrameLists& lists, std::int64_t frames) {
  std::vector<std::vector<std::int64_t>> out;
  for (std::size_t record = 0; record < lists.records(); ++record) {
    out.emplace_back();
    for (std::int64_t frame = 0; frame < frames; ++frame) out.back().push_back(lists.at(record, frame, 0));
  }
  return out;
}

using Wanted = std::vector<std::vector<std::int64_t>>;

TEST(FrameLists, HaveIntegersForEachFrame) {
  const FrameLists lists = lists_of({2, 0, 3});
  EXPECT_EQ(all(lists, 3), (Wanted{{0, 10, 0}, {0, 0, 0}, {20, 30, 40}}));
  EXPECT_EQ(lists.at(2, 1, 1), 31);
  EXPECT_EQ(lists.at(3, 0, 0), 0) << "no such record";
  EXPECT_EQ(lists.at(0, -1, 0), 0) << "no such frame";
}

TEST(FrameLists, ForgetLaterRecordsAndAddEmptyOnes) {
  FrameLists lists = lists_of({2, 3, 1});
  lists.set_records(1);
  lists.set_records(3);
  EXPECT_EQ(all(lists, 2), (Wanted{{0, 10}, {0, 0}, {0, 0}}));
  const std::size_t first = lists.add_record(1);
  EXPECT_EQ(first, 2U);
  lists.set(first, 0, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(lists.at(3, 0, 0), std::numeric_limits<std::int64_t>::min());
}

TEST(FrameLists, AreSpreadOverTheIntactRecordsOfABlock) {
  FrameLists lists = lists_of({2, 1, 0, 1});
  const std::array<std::size_t, 4> numbers{1, 2, 4, 5};
  lists.spread(numbers, 8);
  EXPECT_EQ(all(lists, 2), (Wanted{{0, 0}, {0, 10}, {20, 0}, {0, 0}, {0, 0}, {30, 0}, {0, 0}, {0, 0}}));
}

TEST(FrameLists, OfVerdictsTakeAByteEachOfTheBudget) {
  const auto pool = std::make_shared<BufferPool>(1 << 20);
  {
    FrameLists lists{1, true};
    lists.set(lists.add_record(1000) + 999, 0, 7);
    EXPECT_EQ(lists.at(0, 999, 0), 1);
    EXPECT_EQ(lists.at(0, 998, 0), 0);
    lists.charge(*pool);
    EXPECT_GE(pool->used(), 1000);
    EXPECT_LT(pool->used(), 4000);
  }
  EXPECT_EQ(pool->used(), 0);
}

}  // namespace
}  // namespace forebay::engine
