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

std::vector<std::string> cut_records(const std::string& options, const std::vector<std::int64_t>& lengths) {
  return texts_of(cut_all(bound(windows::discrete(), options, {"x"}), {.values = lengths}));
}

TEST(Discrete, AWindowIsTheNextRecordsOfAPart) {
  EXPECT_THAT(cut_records(R"({"min_window": 2, "max_window": 2})", {2, 3, 1, 2, 1}),
              ElementsAre("0:0+2,1:0+3", "2:0+1,3:0+2"));
  EXPECT_THAT(cut_records(R"({"min_window": 1, "max_window": 1})", {2, 0, 1}), ElementsAre("0:0+2", "1:0+0", "2:0+1"));
  EXPECT_THAT(cut_records(R"({"min_window": 3, "max_window": 3})", {1, 1}), IsEmpty());
  EXPECT_THAT(cut_records(R"({"min_window": 1, "max_window": 1})", {}), IsEmpty());
}

TEST(Discrete, TensorsOfARecordMayDifferInTheirFirstSize) {
  const Windowing windowing = bound(windows::discrete(), R"({"min_window": 2, "max_window": 2})", {"a", "b"});
  EXPECT_EQ(windowing.axes, 2U);
  EXPECT_THAT(texts_of(cut_all(windowing, {.values = {2, 4, 0, 1, 3, 0, 5, 6}, .keys = 2})),
              ElementsAre("0:0+2|0:0+4,1:0+0|1:0+1", "2:0+3|2:0+0,3:0+5|3:0+6"));
}

TEST(Discrete, ATailIsDroppedUnlessItIsAskedFor) {
  EXPECT_THAT(cut_records(R"({"min_window": 2, "max_window": 2, "tail": "keep"})", {1, 1, 1}),
              ElementsAre("0:0+1,1:0+1", "2:0+1"));
  EXPECT_THAT(cut_records(R"({"min_window": 2, "max_window": 2, "tail": "keep_if_min"})", {1, 1, 1}),
              ElementsAre("0:0+1,1:0+1"));
  const Windowing kept =
      bound(windows::discrete(), R"({"min_window": 2, "max_window": 40, "tail": "keep_if_min"})", {"x"});
  for (std::uint64_t part = 0; part < 40; ++part) {
    const auto table = cut_all(kept, {.values = std::vector<std::int64_t>(30, 1), .place = {.part = part}});
    ASSERT_TRUE(table.ok());
    std::int64_t records = 0;
    for (std::size_t i = 0; i < table->size(); ++i) {
      EXPECT_GE(table->length(i), 2);
      records += table->length(i);
    }
    EXPECT_GE(records, 29) << "at most one record is left over";
  }
}

TEST(Discrete, TheNumberOfRecordsIsDrawnForEachWindowOrOnceForAPart) {
  const auto sizes_of = [](const std::string& options, std::uint64_t part) {
    const auto table = cut_all(bound(windows::discrete(), options, {"x"}),
                               {.values = std::vector<std::int64_t>(200, 1), .place = {.seed = 3, .part = part}});
    std::set<std::int64_t> sizes;
    for (std::size_t i = 0; i < table->size(); ++i) sizes.insert(table->length(i));
    return sizes;
  };
  EXPECT_THAT(sizes_of(R"({"min_window": 2, "max_window": 5})", 0), ElementsAre(2, 3, 4, 5));
  std::set<std::int64_t> sizes;
  for (std::uint64_t part = 0; part < 40; ++part) {
    const auto own = sizes_of(R"({"min_window": 2, "max_window": 5, "window_draw": "per_file"})", part);
    EXPECT_EQ(own.size(), 1U);
    sizes.insert(own.begin(), own.end());
  }
  EXPECT_THAT(sizes, ElementsAre(2, 3, 4, 5));
}

TEST(Discrete, NoWindowCrossesTheEndOfAStretch) {
  const Windowing windowing = bound(windows::discrete(), R"({"min_window": 2, "max_window": 2})", {"x"});
  SpanTable out;
  WindowCursor at;
  const std::vector<std::int64_t> first{3, 1, 1}, second{4, 5};
  ASSERT_TRUE(windowing.cutter->cut({.lengths = first, .ends = true}, at, 100, out).ok());
  at.position = 0;
  ASSERT_TRUE(windowing.cutter->cut({.first_element = 4, .lengths = second, .ends = true}, at, 100, out).ok());
  EXPECT_THAT(texts_of(out), ElementsAre("0:0+3,1:0+1", "4:0+4,5:0+5"));
  EXPECT_EQ(out.number(1), 1);
}

TEST(Discrete, SplitsHaveAKnownSizeWhenAllWindowsHaveAsManyRecords) {
  const auto splits = [](const std::string& options) {
    const Windowing out = bound(windows::discrete(), options, {"x", "y"});
    EXPECT_EQ(out.generated.size(), 1U);
    EXPECT_EQ(out.generated[0].kind, Generated::cu_seqlens);
    EXPECT_EQ(out.generated[0].axis, 0U);
    const ColumnSpec& spec = out.out[out.generated[0].column];
    EXPECT_EQ(spec.name, "at");
    EXPECT_EQ(spec.delivery, spec.shape.known() ? Delivery::equal : Delivery::ragged);
    return spec.shape;
  };
  EXPECT_EQ(splits(R"({"min_window": 3, "max_window": 3, "splits": "at"})"), (Shape{4}));
  EXPECT_EQ(splits(R"({"min_window": 3, "max_window": 3, "splits": "at", "tail": "keep_if_min"})"), (Shape{4}));
  EXPECT_EQ(splits(R"({"min_window": 3, "max_window": 3, "splits": "at", "tail": "keep"})"), (Shape{unknown_dim}));
  EXPECT_EQ(splits(R"({"min_window": 2, "max_window": 3, "splits": "at"})"), (Shape{unknown_dim}));
  EXPECT_THAT(fault(windows::discrete(), R"({"min_window": 1, "max_window": 1, "splits": "x"})", sequences({"x"})),
              HasSubstr("there is already a tensor 'x'"));
}

TEST(Discrete, FaultsNameTheOption) {
  const WindowType type = windows::discrete();
  const Schema in = sequences({"x"});
  const auto of = [&](const std::string& options) { return fault(type, options, in); };
  EXPECT_THAT(of("{}"), HasSubstr("min_window"));
  EXPECT_THAT(of(R"({"min_window": 0, "max_window": 1})"), HasSubstr("min_window"));
  EXPECT_THAT(of(R"({"min_window": 5, "max_window": 2})"), HasSubstr("min_window 5 exceeds max_window 2"));
  EXPECT_THAT(of(R"({"min_window": 1, "max_window": 1, "stride": 1})"), HasSubstr("stride"));
  const Windowing before = bound(type, R"({"min_window": 1, "max_window": 1})", {"x"});
  EXPECT_THAT(fault(type, R"({"min_window": 1, "max_window": 1})", in, &before), HasSubstr("first window step"));
}

}  // namespace
}  // namespace forebay
