// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <gmock/gmock.h>

#include "tests/windows/cutters.h"

namespace forebay {
namespace {

using testing::bound;
using testing::cut_all;
using ::testing::ElementsAre;
using testing::fault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::sequences;
using testing::texts_of;

std::vector<std::string> cut_part(const std::string& options, const std::vector<std::int64_t>& lengths) {
  return texts_of(cut_all(bound(windows::continuous(), options, {"x"}), {.values = lengths}));
}

TEST(Continuous, WindowsCrossRecordsAndAreSeveralSpansThere) {
  EXPECT_THAT(cut_part(R"({"min_window": 3, "max_window": 3})", {4, 3, 3}),
              ElementsAre("0:0+3", "0:3+1,1:0+2", "1:2+1,2:0+2"));
  EXPECT_THAT(cut_part(R"({"min_window": 3, "max_window": 3, "stride": 2})", {4, 0, 3, 3}),
              ElementsAre("0:0+3", "0:2+2,2:0+1", "2:0+3", "2:2+1,3:0+2"));
  EXPECT_THAT(cut_part(R"({"min_window": 9, "max_window": 9, "stride": 1})", {4, 3, 3}),
              ElementsAre("0:0+4,1:0+3,2:0+2", "0:1+3,1:0+3,2:0+3"));
}

TEST(Continuous, AStrideMayBeLongerThanTheWindowAndThanRecords) {
  EXPECT_THAT(cut_part(R"({"min_window": 1, "max_window": 1, "stride": 3})", {1, 1, 1, 1, 4}),
              ElementsAre("0:0+1", "3:0+1", "4:2+1"));
  EXPECT_THAT(cut_part(R"({"min_window": 2, "max_window": 2, "stride": 20})", {4, 3, 3}), ElementsAre("0:0+2"));
}

TEST(Continuous, APartThatIsShorterThanTheWindowHasNone) {
  EXPECT_THAT(cut_part(R"({"min_window": 11, "max_window": 11})", {4, 3, 3}), IsEmpty());
  EXPECT_THAT(cut_part(R"({"min_window": 1, "max_window": 1})", {}), IsEmpty());
  EXPECT_THAT(cut_part(R"({"min_window": 1, "max_window": 1})", {0, 0}), IsEmpty());
}

TEST(Continuous, ATailIsDroppedUnlessItIsAskedFor) {
  EXPECT_THAT(cut_part(R"({"min_window": 4, "max_window": 4, "tail": "keep"})", {4, 3, 3}),
              ElementsAre("0:0+4", "1:0+3,2:0+1", "2:1+2"));
  EXPECT_THAT(cut_part(R"({"min_window": 4, "max_window": 4, "tail": "keep"})", {4}), ElementsAre("0:0+4"));
  EXPECT_THAT(cut_part(R"({"min_window": 4, "max_window": 4, "tail": "keep_if_min"})", {4, 3}), ElementsAre("0:0+4"));
}

TEST(Continuous, DrawsLengthsAndStridesWithinTheirBoundsAndUsesAll) {
  const Windowing windowing =
      bound(windows::continuous(), R"({"min_window": 3, "max_window": 6, "min_stride": 1, "max_stride": 3})", {"x"});
  const auto table = cut_all(windowing, {.values = {400, 100}, .place = {.seed = 7, .epoch = 1, .part = 2}});
  ASSERT_TRUE(table.ok());
  std::set<std::int64_t> lengths, strides;
  for (std::size_t i = 0; i < table->size(); ++i) {
    lengths.insert(table->length(i));
    EXPECT_EQ(table->number(i), static_cast<std::int64_t>(i));
    const auto start = [&](std::size_t window) {
      return (*table)[window][0].element * 400 + (*table)[window][0].start;
    };
    if (i > 0) strides.insert(start(i) - start(i - 1));
  }
  EXPECT_THAT(lengths, ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(strides, ElementsAre(1, 2, 3));
}

TEST(Continuous, DrawsDependOnSeedEpochPartAndPurposeOnly) {
  const Windowing windowing = bound(windows::continuous(), R"({"min_window": 1, "max_window": 50})", {"x"});
  const auto of = [&](WindowPlace place) { return texts_of(cut_all(windowing, {.values = {1000}, .place = place})); };
  const auto base = of({.seed = 1, .epoch = 2, .part = 3, .purpose = 4});
  EXPECT_EQ(of({.seed = 1, .epoch = 2, .part = 3, .purpose = 4}), base);
  EXPECT_NE(of({.seed = 2, .epoch = 2, .part = 3, .purpose = 4}), base);
  EXPECT_NE(of({.seed = 1, .epoch = 3, .part = 3, .purpose = 4}), base);
  EXPECT_NE(of({.seed = 1, .epoch = 2, .part = 4, .purpose = 4}), base);
  EXPECT_NE(of({.seed = 1, .epoch = 2, .part = 3, .purpose = 5}), base);
}

TEST(Continuous, OneDrawMayServeAWholeFile) {
  const Windowing windowing =
      bound(windows::continuous(), R"({"min_window": 2, "max_window": 9, "window_draw": "per_file"})", {"x"});
  std::set<std::int64_t> files;
  for (std::uint64_t part = 0; part < 40; ++part) {
    const auto table = cut_all(windowing, {.values = {30, 30}, .place = {.part = part}});
    for (std::size_t i = 0; i < table->size(); ++i) EXPECT_EQ(table->length(i), table->length(0));
    files.insert(table->length(0));
  }
  EXPECT_EQ(files.size(), 8U);
}

TEST(Continuous, KeysOfOneRecordHaveOneLength) {
  const Windowing windowing = bound(windows::continuous(), R"({"min_window": 2, "max_window": 2})", {"a", "b"});
  EXPECT_THAT(
      texts_of(cut_all(windowing, {.values = {2, 2, 3, 4}, .keys = 2})),
      ElementsAre("record 1: 'a' has 3 frames and 'b' has 4; all tensors of a window have the same first size"));
  EXPECT_THAT(texts_of(cut_all(windowing, {.values = {1, 1, 1, 1}, .keys = 2})), ElementsAre("0:0+1,1:0+1"));
}

TEST(Continuous, NoWindowCrossesTheEndOfAStretch) {
  const Windowing windowing = bound(windows::continuous(), R"({"min_window": 2, "max_window": 2})", {"x"});
  SpanTable out;
  WindowCursor at;
  const std::vector<std::int64_t> first{3}, second{4};
  ASSERT_TRUE(windowing.cutter->cut({.lengths = first, .ends = true}, at, 100, out).ok());
  at.position = 0;
  ASSERT_TRUE(windowing.cutter->cut({.first_element = 2, .lengths = second, .ends = true}, at, 100, out).ok());
  EXPECT_THAT(texts_of(out), ElementsAre("0:0+2", "2:0+2", "2:2+2"));
  EXPECT_EQ(out.number(2), 2);
}

TEST(Continuous, HugeRecordsNeitherLoopNorOverflow) {
  const Windowing windowing =
      bound(windows::continuous(), R"({"min_window": 281474976710656, "max_window": 281474976710656})", {"x"});
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_THAT(texts_of(cut_all(windowing, {.values = {large, large}})), IsEmpty());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(texts_of(cut_all(windowing, {.values = {most, most}})), ElementsAre(HasSubstr("too many frames")));
  const Windowing one = bound(windows::continuous(), R"({"min_window": 1, "max_window": 1})", {"x"});
  SpanTable out;
  WindowCursor at{.position = large - 1, .window = 5};
  const std::vector<std::int64_t> lengths{large, large};
  EXPECT_EQ(*one.cutter->cut({.lengths = lengths, .ends = true}, at, 2, out), CutEnd::full);
  EXPECT_THAT(texts_of(out), ElementsAre("0:1099511627775+1", "1:0+1"));
}

TEST(Continuous, ElementsThatWereDroppedTooEarlyAreAnError) {
  const Windowing windowing = bound(windows::continuous(), R"({"min_window": 2, "max_window": 2})", {"x"});
  SpanTable out;
  WindowCursor at{.position = 3, .window = 1};
  const std::vector<std::int64_t> lengths{4};
  const auto cut = windowing.cutter->cut({.first_element = 1, .first_frame = 4, .lengths = lengths}, at, 1, out);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code(), Code::internal);
}

TEST(Continuous, FaultsNameTheOption) {
  const WindowType type = windows::continuous();
  const Schema in = sequences({"x"});
  const auto of = [&](const std::string& options) { return fault(type, options, in); };
  EXPECT_THAT(of("{}"), HasSubstr("min_window"));
  EXPECT_THAT(of(R"({"min_window": 0, "max_window": 0})"), HasSubstr("min_window"));
  EXPECT_THAT(of(R"({"min_window": 5, "max_window": 2})"), HasSubstr("min_window 5 exceeds max_window 2"));
  EXPECT_THAT(of(R"({"min_window": 1, "max_window": 1, "stride": 0})"), HasSubstr("stride"));
  EXPECT_THAT(of(R"({"min_window": 1, "max_window": 1, "stride": 1, "min_stride": 1, "max_stride": 1})"),
              HasSubstr("not both"));
  EXPECT_THAT(of(R"({"min_window": 1, "max_window": 1, "min_stride": 1})"), HasSubstr("given together"));
  EXPECT_THAT(of(R"({"min_window": 1, "max_window": 1, "min_stride": 3, "max_stride": 2})"),
              HasSubstr("min_stride 3 exceeds max_stride 2"));
  const Windowing before = bound(type, R"({"min_window": 1, "max_window": 1})", {"x"});
  EXPECT_THAT(fault(type, R"({"min_window": 1, "max_window": 1})", in, &before), HasSubstr("first window step"));
}

TEST(Continuous, AFixedLengthMakesColumnsOfKnownShape) {
  const auto shape = [](const std::string& options) {
    const Windowing out = bound(windows::continuous(), options, {"x"});
    return out.out[out.made[0]].shape;
  };
  EXPECT_EQ(shape(R"({"min_window": 3, "max_window": 3})"), (Shape{3}));
  EXPECT_EQ(shape(R"({"min_window": 3, "max_window": 4})"), (Shape{unknown_dim}));
  EXPECT_EQ(shape(R"({"min_window": 3, "max_window": 3, "tail": "keep"})"), (Shape{unknown_dim}));
}

}  // namespace
}  // namespace forebay
