// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steps/slice_text.h"
#include "tests/support/blocks.h"

namespace forebay::steps {
StepType slice();

namespace {

using testing::HasSubstr;

std::string sliced(const std::string& rows, const std::string& slice) {
  const auto out =
      test::run_step(steps::slice(), R"({"tensor": "x", "slice": ")" + slice + "\"}", R"({"x": )" + rows + "}");
  return out.ok() ? out->find("x")->text() : out.error().text();
}

std::string read(std::string_view text) {
  const auto items = parse_slice(text);
  if (!items.ok()) return items.error().text();
  std::string out;
  const auto number = [](const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; };
  for (const SliceItem& item : *items) {
    if (!out.empty()) out += ",";
    out += item.index ? number(item.index) : number(item.start) + ":" + number(item.stop) + ":" + number(item.step);
  }
  return out;
}

TEST(SliceText, ItemsAreIndicesAndRangesWithBlanksBetween) {
  EXPECT_EQ(read("[3,:,4:,:-2,1:4]"), "3,::,4::,:-2:,1:4:");
  EXPECT_EQ(read("[ +1 ,\t: ,1 : 2: 3 ]"), "1,::,1:2:3");
  EXPECT_EQ(read("[-9223372036854775808]"), "-9223372036854775808");
}

TEST(SliceText, FaultsQuoteTheTextAndNameTheColumn) {
  EXPECT_EQ(read("[1,]"), "slice '[1,]': column 4: expected an index like 3 or a range like 1:4, found nothing");
  EXPECT_EQ(read("[1, a]"), "slice '[1, a]': column 5: expected an index like 3 or a range like 1:4, found 'a'");
  EXPECT_EQ(read("[1:2:3:4]"), "slice '[1:2:3:4]': column 7: a range has at most two colons, start:stop:step");
  EXPECT_EQ(read("[99999999999999999999]"),
            "slice '[99999999999999999999]': column 2: 99999999999999999999 does not fit a 64-bit integer");
  EXPECT_EQ(read("1]"), "slice '1]': column 1: expected '[' at the beginning");
  EXPECT_EQ(read("[1"), "slice '[1': column 3: expected ']' at the end");
}

TEST(SliceText, EverythingElseIsRefused) {
  for (const char* text : {"",      "[",     "]",     "[]",    "[ ]",   "[...]",           "[:::]", "[1 2]",
                           "[1.0]", "[0x1]", "[1_0]", "[--1]", "[+-1]", "[- 1]",           "[[1]]", "[None]",
                           "(1)",   " [0]",  "[0] ",  "[,1]",  "[٣]",   "__import__('os')"}) {
    EXPECT_FALSE(parse_slice(text).ok()) << text;
  }
}

TEST(Slice, NegativeIndexCountsFromTheEnd) { EXPECT_EQ(sliced("[[1, 2, 3]]", "[-1]"), "[3]"); }

TEST(Slice, RangesAreClamped) {
  EXPECT_EQ(sliced("[[1, 2, 3]]", "[-9:9]"), "[[1,2,3]]");
  EXPECT_EQ(sliced("[[1, 2, 3]]", "[7:]"), "[[]]");
  EXPECT_EQ(sliced("[[1, 2, 3]]", "[-9223372036854775808:9223372036854775807:9223372036854775807]"), "[[1]]");
  EXPECT_EQ(sliced("[[1, 2, 3]]", "[9223372036854775807:-9223372036854775808:-9223372036854775808]"), "[[3]]");
}

TEST(Slice, NegativeStepGoesBackwards) {
  EXPECT_EQ(sliced("[[[1, 2], [3, 4], [5, 6]]]", "[::-2,::-1]"), "[[[6,5],[2,1]]]");
  EXPECT_EQ(sliced("[[1, 2, 3, 4, 5]]", "[5:-5:-2]"), "[[5,3]]");
}

TEST(Slice, InnerAxesAreCutInEveryRow) {
  EXPECT_EQ(sliced("[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]", "[:,0]"), "[[1,4],[7,10]]");
  EXPECT_EQ(sliced("[[[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]]", "[1:,:2]"), "[[[4.5,5.5]]]");
  EXPECT_EQ(sliced(R"([[["a", "b"], ["c", "dd"]], [["e", ""], ["g", "h"]]])", "[:,1]"), R"([["b","dd"],["","h"]])");
}

TEST(Slice, RowsOfUnequalSizeAreCutOneByOne) {
  EXPECT_EQ(sliced("[[1, 2, 3], [], [4]]", "[::-1]"), "[[3,2,1],[],[4]]");
  EXPECT_EQ(sliced("[[[1, 2], [3, 4]], [[5, 6]]]", "[:,1]"), "[[2,4],[6]]");
  EXPECT_EQ(sliced("[[[1, 2], [3, 4]], [[5, 6]]]", "[-1]"), "[[3,4],[5,6]]");
  EXPECT_EQ(sliced(R"([["a", "b"], ["c"]])", "[0]"), R"(["a","c"])");
}

TEST(Slice, IndexOutsideAnAxisOfKnownSizeIsAFaultOfTheDocument) {
  const auto out = test::run_step(steps::slice(), R"({"tensor": "x", "slice": "[:,6]"})", R"({"x": [[[1, 2]]]})");
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::config);
  EXPECT_EQ(out.error().place().pointer, "/slice");
  EXPECT_EQ(out.error().message(), "slice '[:,6]': column 4: index 6 is outside an axis of 2 elements");
}

TEST(Slice, IndexOutsideAnAxisOfUnknownSizeIsAFaultOfTheRow) {
  const auto out = test::run_step(steps::slice(), R"({"tensor": "x", "slice": "[1]"})", R"({"x": [[1, 2], [3]]})");
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::data);
  EXPECT_EQ(out.error().place().row, 1);
  EXPECT_EQ(out.error().place().feature, "x");
  EXPECT_EQ(out.error().message(), "slice '[1]': column 2: index 1 is outside an axis of 1 elements");
}

TEST(Slice, MoreItemsThanAxesAndStepZeroAreRefused) {
  EXPECT_THAT(sliced("[[[1]]]", "[0,0,0]"), HasSubstr("expected 2, got 3"));
  EXPECT_THAT(sliced("[[[1]]]", "[::0]"), HasSubstr("slice '[::0]': column 2: the step of a range must not be 0"));
}

TEST(Slice, ShapeComesFromTheColumnWhenTheSchemaDidNotKnowIt) {
  Schema schema;
  ColumnBlock block = test::block_from_json(*parse_json(R"({"x": [[1, 2, 3], [4, 5, 6]]})"), schema);
  Schema earlier;
  earlier.put({.name = "x", .dtype = DType::int64, .shape = {unknown_dim}});
  const auto bound = slice().bind(*parse_json(R"({"tensor": "x", "slice": "[1:]"})"), earlier);
  ASSERT_TRUE(bound.ok());
  test::add_columns(block, bound->out);
  ASSERT_TRUE(bound->op->apply(block, {}, nullptr).ok());
  EXPECT_EQ(block[1].shape, (Shape{2}));
  EXPECT_EQ(test::block_to_json(block, bound->out).text(), R"({"x":[[2,3],[5,6]]})");
}

TEST(Slice, EmptyBlocksGiveEmptyPieces) {
  EXPECT_EQ(sliced(R"({"rows": [], "dtype": "int32", "shape": [4]})", "[2]"), "[]");
  EXPECT_EQ(sliced(R"({"rows": [], "dtype": "string", "shape": [-1]})", "[2]"), "[]");
}

}  // namespace
}  // namespace forebay::steps
