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
using Texts = std::vector<std::string>;

Texts chunks(const std::string& options, const std::vector<std::int64_t>& lengths) {
  return texts_of(cut_all(bound(windows::chunk(), options, {"x"}), {.values = lengths}));
}

Texts chunks_of_two(const std::string& options, const std::vector<std::int64_t>& lengths) {
  return texts_of(cut_all(bound(windows::chunk(), options, {"data", "classes"}), {.values = lengths, .keys = 2}));
}

TEST(Chunk, LastChunkIsShortWhenTheSequenceDoesNotDivide) {
  EXPECT_THAT(chunks(R"({"size": 2})", {5}), ElementsAre("0:0+2", "0:2+2", "0:4+1"));
}

TEST(Chunk, ChunksOverlapWhenTheStepIsShorterThanTheSizeAndLeaveGapsWhenItIsLonger) {
  EXPECT_THAT(chunks(R"({"size": 3, "step": 2})", {5, 7}),
              ElementsAre("0:0+3", "0:2+3", "0:4+1", "1:0+3", "1:2+3", "1:4+3", "1:6+1"));
  EXPECT_THAT(chunks(R"({"size": 4, "step": 6})", {10}), ElementsAre("0:0+4", "0:6+4"));
}

TEST(Chunk, EmptySequencesHaveNoChunkAndOneFrameIsOneChunk) {
  EXPECT_THAT(chunks(R"({"size": 3})", {0, 1, 0}), ElementsAre("1:0+1"));
  EXPECT_THAT(chunks(R"({"size": 3})", {}), IsEmpty());
}

TEST(Chunk, ATailOfAtLeastTheMinimumIsKeptAndAShortSequenceUnlessItIsDropped) {
  EXPECT_THAT(chunks(R"({"size": 10, "min_size": 5})", {25, 24, 3}),
              ElementsAre("0:0+10", "0:10+10", "0:20+5", "1:0+10", "1:10+10", "2:0+3"));
  EXPECT_THAT(chunks(R"({"size": 10, "min_size": 5, "drop_short": true})", {3, 5}), ElementsAre("1:0+5"));
}

TEST(Chunk, ATailThatTheChunkBeforeCoversCanBeDropped) {
  EXPECT_THAT(chunks(R"({"size": 10, "step": 5})", {11}), ElementsAre("0:0+10", "0:5+6", "0:10+1"));
  EXPECT_THAT(chunks(R"({"size": 10, "step": 5, "drop_covered_tail": true})", {11, 10, 15, 4, 0}),
              ElementsAre("0:0+10", "0:5+6", "1:0+10", "2:0+10", "2:5+10", "3:0+4"));
}

TEST(Chunk, KeysOfOtherRatesHaveSizesAndStepsOfTheirOwn) {
  EXPECT_THAT(chunks_of_two(R"({"size": {"data": 12, "classes": 6}, "step": {"data": 6, "classes": 3}})", {24, 12}),
              ElementsAre("0:0+12|0:0+6", "0:6+12|0:3+6", "0:12+12|0:6+6", "0:18+6|0:9+3"));
}

TEST(Chunk, AKeyOfOneFrameIsGivenWholeUnlessItsStepIsStated) {
  EXPECT_THAT(chunks_of_two(R"({"size": 4})", {11, 1}), ElementsAre("0:0+4|0:0+1", "0:4+4|0:0+1", "0:8+3|0:0+1"));
  EXPECT_THAT(chunks_of_two(R"({"size": 4})", {1, 5}), ElementsAre("0:0+1|0:0+4", "0:0+1|0:4+1"));
  EXPECT_THAT(chunks_of_two(R"({"size": 4, "step": {"data": 4, "classes": 4}})", {11, 1}),
              ElementsAre(HasSubstr("'data' has the length 11, 'classes' has the length 1")));
  EXPECT_THAT(chunks_of_two(R"({"size": 4, "step": {"data": 4, "classes": 0}})", {5, 3}),
              ElementsAre("0:0+4|0:0+3", "0:4+1|0:0+3"));
}

TEST(Chunk, KeysThatDoNotFitAreAnErrorThatNamesThemAndTheRecord) {
  EXPECT_THAT(
      chunks_of_two(R"({"size": 4})", {4, 4, 11, 7}),
      ElementsAre("record 1: 'data' has the length 11, 'classes' has the length 7; keys with the same chunk size "
                  "and step have the same length"));
  EXPECT_THAT(
      chunks_of_two(R"({"size": {"data": 12, "classes": 6}})", {24, 20}),
      ElementsAre("record 0: 'data' has the length 24 and 2 chunks, 'classes' has the length 20 and 4 chunks; a "
                  "chunk needs frames of every key"));
}

TEST(Chunk, AHugeSequenceIsCutAsFarAsItIsAskedFor) {
  const Windowing windowing = bound(windows::chunk(), R"({"size": 1000, "step": 3})", {"x"});
  const std::vector<std::int64_t> lengths{std::int64_t{1} << 40};
  const WindowRows rows{.lengths = lengths, .ends = true};
  WindowCursor at;
  SpanTable out;
  EXPECT_EQ(*windowing.cutter->cut(rows, at, 2, out), CutEnd::full);
  EXPECT_EQ(at, (WindowCursor{.position = 0, .window = 2}));
  at.window = (lengths[0] - 1) / 3;
  EXPECT_EQ(*windowing.cutter->cut(rows, at, 10, out), CutEnd::needs_rows);
  EXPECT_EQ(at, (WindowCursor{.position = 1, .window = 0}));
  EXPECT_EQ(out[2][0], (WindowSpan{.element = 0, .start = (lengths[0] - 1) / 3 * 3, .length = 1}));
  EXPECT_EQ(out.size(), 3U);
}

TEST(Chunk, VarianceShortensTheChunksOfASequenceByOneFactorAndKeepsRatios) {
  const Windowing windowing =
      bound(windows::chunk(), R"({"size": {"data": 100, "classes": 50}, "variance": 0.5})", {"data", "classes"});
  EXPECT_TRUE(windowing.draws);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 400; ++i) lengths.insert(lengths.end(), {300, 150});
  const auto of = [&](WindowPlace place) { return cut_all(windowing, {.values = lengths, .keys = 2, .place = place}); };
  const auto table = of({.seed = 3, .epoch = 1, .part = 2});
  ASSERT_TRUE(table.ok()) << table.error().text();
  std::set<std::int64_t> sizes;
  for (std::size_t i = 0; i < table->size(); ++i) {
    const auto spans = (*table)[i];
    EXPECT_EQ(spans[0].length, 2 * spans[1].length);
    EXPECT_EQ(spans[0].start, 2 * spans[1].start);
    if (table->number(i) == 0) sizes.insert(spans[0].length);
    if (table->number(i) == 1) {
      EXPECT_EQ(spans[0].start, (*table)[i - 1][0].length);
    }
  }
  EXPECT_EQ(*sizes.begin(), 50);
  EXPECT_EQ(*sizes.rbegin(), 98) << "the factor is below 1, and the smaller key has a whole number of frames";
  EXPECT_GT(sizes.size(), 20U);
  EXPECT_EQ(texts_of(of({.seed = 3, .epoch = 1, .part = 2})), texts_of(table));
  EXPECT_NE(texts_of(of({.seed = 3, .epoch = 2, .part = 2})), texts_of(table));
}

TEST(Chunk, BindsToTheColumnsOfUnknownLengthAndChangesTheirShape) {
  Schema in = sequences({"x"});
  in.put({.name = "label", .dtype = DType::int64, .shape = {}});
  in.put({.name = "y", .dtype = DType::float32, .shape = {unknown_dim, 40}});
  const auto json = parse_json(R"({"size": 4})");
  const auto out = windows::chunk().bind(*json, in, nullptr);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_THAT(out->keys, ElementsAre(0, 2));
  EXPECT_THAT(out->whole, ElementsAre(1));
  EXPECT_THAT(out->made, ElementsAre(3, 4));
  EXPECT_EQ(out->out[4].shape, (Shape{unknown_dim, 40}));
  EXPECT_EQ(*out->out.find("y"), 4);
}

TEST(Chunk, FaultsNameTheOption) {
  const Schema in = sequences({"x", "y"});
  const WindowType type = windows::chunk();
  EXPECT_THAT(fault(type, "{}", in), HasSubstr("size"));
  EXPECT_THAT(fault(type, R"({"size": 0})", in), HasSubstr("the chunk size of 'x' is 0, allowed are 1 to"));
  EXPECT_THAT(fault(type, R"({"size": 4, "step": -1})", in), HasSubstr("the chunk step of 'x' is -1"));
  EXPECT_THAT(fault(type, R"({"size": {"x": 4}})", in), HasSubstr("does not name key 'y'"));
  EXPECT_THAT(fault(type, R"({"size": {"x": 4, "z": 1, "y": 2}})", in), HasSubstr("`size` names 'z'"));
  EXPECT_THAT(fault(type, R"({"size": 4, "step": 0})", in), HasSubstr("every chunk step is 0"));
  EXPECT_THAT(fault(type, R"({"size": 4, "keys": ["x", "x"]})", in), HasSubstr("named twice"));
  EXPECT_THAT(fault(type, R"({"size": 4, "keys": ["w"]})", in), HasSubstr("'w'"));
  EXPECT_THAT(fault(type, R"({"size": 4, "variance": 1})", in), HasSubstr("from 0 to below 1"));
  Schema fixed;
  fixed.put({.name = "f", .shape = {3}});
  fixed.put({.name = "s", .shape = {}});
  EXPECT_THAT(fault(type, R"({"size": 4})", fixed), HasSubstr("`keys` names the tensors to cut"));
  EXPECT_THAT(fault(type, R"({"size": 4, "keys": ["s"]})", fixed), HasSubstr("no time axis"));
}

TEST(Context, IsFramesOfTheSequenceAndPaddingOutsideIt) {
  const Windowing chunk = bound(windows::chunk(), R"({"size": 5})", {"data", "classes"});
  const auto windows_of = [&](const std::string& options, const Windowing* before, std::vector<std::int64_t> lengths) {
    return texts_of(cut_all(bound(windows::context(), options, {"data", "classes"}, before),
                            {.values = std::move(lengths), .keys = 2}));
  };
  EXPECT_THAT(windows_of(R"({"window": 3})", &chunk, {11, 11}),
              ElementsAre("0:0+6<1|0:0+5", "0:4+7|0:5+5", "0:9+2>1|0:10+1"));
  EXPECT_THAT(windows_of(R"({"window": 2})", &chunk, {5, 5}), ElementsAre("0:0+5>1|0:0+5"));
  EXPECT_THAT(windows_of(R"({"left": {"classes": 2}, "right": {"data": 9}})", nullptr, {4, 4, 0, 0}),
              ElementsAre("0:0+4>9|0:0+4<2", "1:0+0>9|1:0+0<2"));
}

TEST(Context, LengthsCountThePadding) {
  const Windowing context = bound(windows::context(), R"({"window": 7})", {"data"});
  const auto table = cut_all(context, {.values = {4}});
  EXPECT_EQ(table->length(0), 10);
}

TEST(Context, FaultsNameTheOption) {
  const WindowType type = windows::context();
  const Schema in = sequences({"x"});
  EXPECT_THAT(fault(type, "{}", in), HasSubstr("give `window`, or `left` and `right`"));
  EXPECT_THAT(fault(type, R"({"window": 1, "left": {"x": 1}})", in), HasSubstr("give `window`"));
  EXPECT_THAT(fault(type, R"({"left": 2, "right": 1})", in), HasSubstr("left"));
  EXPECT_THAT(fault(type, R"({"window": -1})", in), HasSubstr("allowed are 0 to 2147483647"));
  EXPECT_THAT(fault(type, R"({"window": {"y": 3}})", in), HasSubstr("'y'"));
  const Windowing part = bound(windows::continuous(), R"({"min_window": 1, "max_window": 2})", {"x"});
  EXPECT_THAT(fault(type, R"({"window": 3})", in, &part), HasSubstr("windows over a part"));
}

}  // namespace
}  // namespace forebay
