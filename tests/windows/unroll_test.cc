// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/windows/cutters.h"

namespace forebay {
namespace {

using testing::bound;
using testing::cut_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sequences;
using testing::text_of;
using testing::texts_of;

/// The windows with number and count of each: "1/3 0:3+3".
std::vector<std::string> segments(const std::string& options, const std::vector<std::string>& names,
                                  const std::vector<std::int64_t>& lengths, std::int64_t at_once = 1000) {
  const Windowing windowing = bound(windows::unroll(), options, names);
  std::vector<std::string> out;
  WindowCursor at;
  while (true) {
    SpanTable table{windowing.axes};
    const auto end = windowing.cutter->cut({.lengths = lengths, .ends = true}, at, at_once, table);
    for (std::size_t i = 0; i < table.size(); ++i)
      out.push_back(std::to_string(table.number(i)) + "/" + std::to_string(table.count(i)) + " " + text_of(table, i));
    if (!end.ok()) out.push_back(end.error().text());
    if (!end.ok() || *end == CutEnd::needs_rows) return out;
  }
}

TEST(Unroll, CutsSegmentsThatKnowTheirNumberAndPadsTheLastOne) {
  const std::vector<std::string> expected{"0/2 0:0+3", "1/2 0:3+2>1", "0/1 1:0+2>1", "0/3 2:0+3",
                                          "1/3 2:3+3", "2/3 2:6+1>2", "0/1 3:0+3"};
  for (const std::int64_t at_once : {1, 2, 3, 1000})
    EXPECT_EQ(segments(R"({"num_unroll": 3})", {"x"}, {5, 2, 7, 3}, at_once), expected);
}

TEST(Unroll, CutsAllKeysAlike) {
  EXPECT_THAT(segments(R"({"num_unroll": 2, "keys": ["y", "x"]})", {"x", "y", "z"}, {3, 3}),
              ElementsAre("0/2 0:0+2|0:0+2", "1/2 0:2+1>1|0:2+1>1"));
}

TEST(Unroll, SegmentsHaveOneShape) {
  const Windowing windowing = bound(windows::unroll(), R"({"num_unroll": 4})", {"x"});
  EXPECT_EQ(windowing.out[windowing.made[0]].shape, (Shape{4}));
  EXPECT_TRUE(windowing.counts);
}

TEST(Unroll, RefusesKeysOfUnequalLengthAndSequencesWithoutFrames) {
  EXPECT_THAT(segments(R"({"num_unroll": 2})", {"x", "y"}, {1, 1, 5, 4}),
              ElementsAre("0/1 0:0+1>1|0:0+1>1",
                          "record 1: 'x' has the length 5, 'y' has the length 4; all keys of a sequence have the same "
                          "length, and `keys` names them"));
  EXPECT_THAT(segments(R"({"num_unroll": 2})", {"x"}, {1, 0}),
              ElementsAre("0/1 0:0+1>1", HasSubstr("record 1: the sequence has no frames")));
  EXPECT_THAT(segments(R"({"num_unroll": 2})", {"x"}, {1, 0}).back(), HasSubstr("length(x) > 0"));
}

TEST(Unroll, CutsSequencesOnly) {
  const Windowing chunks = bound(windows::chunk(), R"({"size": 2})", {"x"});
  EXPECT_THAT(testing::fault(windows::unroll(), R"({"num_unroll": 2})", sequences({"x"}), &chunks),
              HasSubstr("cuts sequences, not windows"));
}

TEST(Unroll, GivesWhatIsLeftWithoutPadding) {
  EXPECT_THAT(segments(R"({"num_unroll": 3, "pad": false})", {"x"}, {5, 2}),
              ElementsAre("0/2 0:0+3", "1/2 0:3+2", "0/1 1:0+2"));
  const Windowing windowing = bound(windows::unroll(), R"({"num_unroll": 4, "pad": false})", {"x"});
  EXPECT_EQ(windowing.out[windowing.made[0]].shape, (Shape{unknown_dim}));
}

TEST(Unroll, SegmentsAreWidenedToOneSize) {
  const Windowing segments = bound(windows::unroll(), R"({"num_unroll": 2})", {"x"});
  const Windowing wide = bound(windows::context(), R"({"window": 4})", {"x"}, &segments);
  EXPECT_EQ(wide.out[wide.made[0]].shape, (Shape{5}));
  EXPECT_THAT(texts_of(cut_all(wide, {{5}})), ElementsAre("0:0+4<1", "0:1+4>1", "0:3+2>3"));
}

TEST(Unroll, RefusesSegmentsWithoutFrames) {
  for (const char* const size : {"0", "-1", "1000001"})
    EXPECT_THAT(testing::fault(windows::unroll(), std::string{R"({"num_unroll": )"} + size + "}", sequences({"x"})),
                HasSubstr("num_unroll"));
}

}  // namespace
}  // namespace forebay
