// SPDX-License-Identifier: Apache-2.0
#include "columns/take/take.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::columns {
namespace {

using Ints = std::vector<std::int32_t>;
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

Column sequences(const std::vector<Ints>& rows, std::int64_t features = 1) {
  Column out{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {unknown_dim, features}}};
  for (const Ints& row : rows) {
    for (const std::int32_t value : row) out.values.push(value);
    out.end_row(std::vector{static_cast<std::int64_t>(row.size()) / features});
  }
  return out;
}

Column texts(const std::vector<std::vector<std::string>>& rows) {
  Column out{ColumnSpec{.name = "s", .dtype = DType::string, .shape = {unknown_dim}}};
  for (const auto& row : rows) {
    for (const std::string& text : row) out.push_string(std::as_bytes(std::span{text}));
    out.end_row(std::vector{static_cast<std::int64_t>(row.size())});
  }
  return out;
}

std::vector<std::string> strings_of(const Column& column) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < column.elements(); ++i) {
    const auto bytes = column.string(i);
    out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out;
}

/// Rows of int32 of one length, preset with 77, and a source.
struct Dense {
  Dense(std::int64_t rows, std::int64_t frames, std::int64_t features = 1)
      : out(static_cast<std::size_t>(rows * frames * features), 77), rows_{rows}, shape{frames, features} {}

  Result<void> take(const Elements& source, const std::vector<PlacedSpan>& spans, Unfold unfold = {}) {
    return take(source, spans, {0, spans.size()}, unfold);
  }
  Result<void> take(const Elements& source, const std::vector<PlacedSpan>& spans, IndexRange range,
                    Unfold unfold = {}) {
    const Taking taking{
        .sources = {&source, 1}, .spans = spans, .filler = std::as_bytes(std::span{filler}), .unfold = unfold};
    return columns::take(
        taking, range,
        {.dtype = DType::int32, .memory = std::as_writable_bytes(std::span{out}), .rows = rows_, .shape = shape});
  }

  Ints out;
  std::int64_t rows_;
  Shape shape;
  Ints filler{-1};
};

TEST(Take, CutsWindowsOutOfElementsAndPadsThem) {
  const Column in = sequences({{1, 2, 3, 4}, {5, 6}});
  Dense rows{3, 4};
  ASSERT_TRUE(rows.take(Elements::of(in), {{.element = 0, .start = 1, .length = 3, .row = 0},
                                           {.element = 0, .start = 0, .length = 2, .pad_left = 1, .row = 1},
                                           {.element = 1, .start = 1, .length = 1, .pad_right = 1, .row = 2, .at = 2}})
                  .ok());
  EXPECT_EQ(rows.out, (Ints{2, 3, 4, -1, -1, 1, 2, -1, -1, -1, 6, -1}));
}

TEST(Take, ARowHasNoSpanOneOrSeveral) {
  const Column in = sequences({{1, 2, 3}, {4, 5, 6}});
  Dense rows{5, 4};
  ASSERT_TRUE(rows.take(Elements::of(in), {{.element = 0, .start = 2, .length = 1, .row = 1},
                                           {.element = 1, .start = 0, .length = 2, .row = 1, .at = 2},
                                           {.element = 1, .start = 2, .length = 1, .row = 3, .at = 3}})
                  .ok());
  EXPECT_EQ(rows.out, (Ints{-1, -1, -1, -1, 3, -1, 4, 5, -1, -1, -1, -1, -1, -1, -1, 6, -1, -1, -1, -1}));
}

TEST(Take, ABatchWithoutASpanIsAllPadding) {
  Dense rows{2, 2};
  const Column in = sequences({});
  ASSERT_TRUE(rows.take(Elements::of(in), {}).ok());
  EXPECT_EQ(rows.out, (Ints{-1, -1, -1, -1}));
}

TEST(Take, RangesOfSpansWriteEveryByteOnceInAnyOrder) {
  const Column in = sequences({{1, 2, 3, 4, 5, 6, 7, 8}});
  const std::vector<PlacedSpan> spans{{.start = 0, .length = 1, .row = 1, .at = 1},
                                      {.start = 1, .length = 1, .pad_left = 1, .row = 1, .at = 3},
                                      {.start = 2, .length = 2, .row = 2},
                                      {.start = 4, .length = 4, .row = 4}};
  Dense whole{6, 6};
  ASSERT_TRUE(whole.take(Elements::of(in), spans).ok());
  for (std::size_t cut = 0; cut <= spans.size(); ++cut) {
    Dense rows{6, 6};
    ASSERT_TRUE(rows.take(Elements::of(in), spans, IndexRange{cut, spans.size()}).ok());
    const auto before = std::count(rows.out.begin(), rows.out.end(), 77);
    EXPECT_EQ(before, cut == 0 ? 0 : spans[cut - 1].row * 6 + spans[cut - 1].end());
    ASSERT_TRUE(rows.take(Elements::of(in), spans, IndexRange{0, cut}).ok());
    EXPECT_EQ(rows.out, whole.out) << cut;
  }
}

TEST(Take, FramesKeepTheirFeaturesTogether) {
  const Column in = sequences({{1, 2, 3, 4, 5, 6}}, 2);
  Dense rows{1, 3, 2};
  ASSERT_TRUE(rows.take(Elements::of(in), {{.start = 1, .length = 2}}).ok());
  EXPECT_EQ(rows.out, (Ints{3, 4, 5, 6, -1, -1}));
}

TEST(Take, SmallerFramesArePaddedAtTheHighSideOfEachAxis) {
  Column in{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {unknown_dim, unknown_dim, 2}}};
  for (std::int32_t i = 1; i <= 4; ++i) in.values.push(i);
  in.end_row(std::vector<std::int64_t>{2, 1});
  for (std::int32_t i = 5; i <= 12; ++i) in.values.push(i);
  in.end_row(std::vector<std::int64_t>{2, 2});
  Dense rows{2, 2};
  rows.shape = {2, 2, 2};
  rows.out.assign(16, 77);
  ASSERT_TRUE(rows.take(Elements::of(in), {{.element = 0, .length = 2}, {.element = 1, .length = 2, .row = 1}}).ok());
  EXPECT_EQ(rows.out, (Ints{1, 2, -1, -1, 3, 4, -1, -1, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(Take, StackedFramesReachOutOfTheSpanButNotOutOfTheElement) {
  const Column in = sequences({{1, 2, 3, 4}});
  Dense rows{1, 3, 3};
  ASSERT_TRUE(rows.take(Elements::of(in), {{.start = 0, .length = 2}}, Unfold{1, 1}).ok());
  EXPECT_EQ(rows.out, (Ints{-1, 1, 2, 1, 2, 3, -1, -1, -1}));
}

TEST(Take, RowsOfAColumnMayBeTheFramesOfOneElement) {
  Column in{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {2}}};
  in.set_rows(3);
  for (std::int32_t i = 0; i < 6; ++i) in.values.as<std::int32_t>()[i] = i;
  const auto frames = Elements::of(in).rows_as_frames();
  ASSERT_TRUE(frames.ok());
  Dense rows{1, 2, 2};
  ASSERT_TRUE(rows.take(*frames, {{.start = 1, .length = 2}}).ok());
  EXPECT_EQ(rows.out, (Ints{2, 3, 4, 5}));
}

TEST(Take, JoinedRowsAreOneElement) {
  const Column in = sequences({{1, 2, 3}, {}, {4}, {5, 6}});
  const auto joined = Elements::of(in).joined();
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ((*joined)[0].frames, 6);
  Dense rows{1, 4};
  ASSERT_TRUE(rows.take(*joined, {{.start = 2, .length = 3}}).ok());
  EXPECT_EQ(rows.out, (Ints{3, 4, 5, -1}));
}

TEST(TakeAppended, ARowOfUnknownLengthEndsWithItsLastSpan) {
  const Column in = sequences({{1, 2, 3, 4}, {5, 6, 7}});
  const Elements source = Elements::of(in);
  const std::vector<PlacedSpan> spans{{.element = 0, .start = 3, .length = 1, .row = 0},
                                      {.element = 1, .start = 0, .length = 2, .row = 0, .at = 1},
                                      {.element = 0, .start = 0, .length = 1, .pad_left = 1, .pad_right = 1, .row = 2}};
  const std::int32_t filler = -1;
  const Taking taking{.sources = {&source, 1}, .spans = spans, .filler = std::as_bytes(std::span{&filler, 1})};
  Column out{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {unknown_dim, 1}}};
  ASSERT_TRUE(take(taking, {0, 4}, out).ok());
  EXPECT_EQ(out.rows, 4);
  EXPECT_THAT(out.values.span<std::int32_t>(), ::testing::ElementsAre(4, 5, 6, -1, 1, -1));
  EXPECT_THAT(out.row_splits.span<std::int64_t>(), ::testing::ElementsAre(0, 3, 3, 6, 6));
  EXPECT_THAT(out.dims.span<std::int64_t>(), ::testing::ElementsAre(3, 0, 3, 0));
}

TEST(TakeAppended, WholeElementsKeepAllTheirSizes) {
  Column in{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {unknown_dim, unknown_dim}}};
  for (std::int32_t i = 1; i <= 6; ++i) in.values.push(i);
  in.end_row(std::vector<std::int64_t>{2, 3});
  in.end_row(std::vector<std::int64_t>{0, 5});
  in.values.push(7);
  in.end_row(std::vector<std::int64_t>{1, 1});
  const Elements source = Elements::of(in);
  const std::vector<PlacedSpan> spans{whole_element(source, 0, 2, 0), whole_element(source, 0, 0, 1),
                                      whole_element(source, 0, 1, 2)};
  Column out{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {unknown_dim, unknown_dim}}};
  ASSERT_TRUE(take({.sources = {&source, 1}, .spans = spans, .filler = {}}, {0, 3}, out).ok());
  EXPECT_THAT(out.values.span<std::int32_t>(), ::testing::ElementsAre(7, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(out.dims.span<std::int64_t>(), ::testing::ElementsAre(1, 1, 2, 3, 0, 5));
  EXPECT_THAT(out.row_splits.span<std::int64_t>(), ::testing::ElementsAre(0, 1, 7, 7));
}

TEST(TakeAppended, StringsArePaddedToAKnownLength) {
  const Column in = texts({{"a", "bcd", ""}, {"ef"}});
  const Elements source = Elements::of(in);
  const std::string filler = "-";
  const std::vector<PlacedSpan> spans{{.element = 0, .start = 1, .length = 2, .row = 0},
                                      {.element = 1, .start = 0, .length = 1, .row = 2, .at = 1}};
  Column out{ColumnSpec{.name = "s", .dtype = DType::string, .shape = {3}}};
  const Taking taking{.sources = {&source, 1}, .spans = spans, .filler = std::as_bytes(std::span{filler})};
  ASSERT_TRUE(take(taking, {0, 3}, out).ok());
  EXPECT_EQ(out.rows, 3);
  EXPECT_THAT(strings_of(out), ::testing::ElementsAre("bcd", "", "-", "-", "-", "-", "-", "ef", "-"));
}

TEST(TakeAppended, RowsOfOneBatchMayBeAppendedToSeveralColumns) {
  const Column in = texts({{"a", "b", "c"}});
  const Elements source = Elements::of(in);
  const std::vector<PlacedSpan> spans{{.start = 0, .length = 2}, {.start = 1, .length = 2, .row = 1}};
  const Taking taking{.sources = {&source, 1}, .spans = spans, .filler = {}};
  Column first{ColumnSpec{.name = "s", .dtype = DType::string, .shape = {unknown_dim}}};
  Column second = first.rows == 0 ? Column{ColumnSpec{.dtype = DType::string, .shape = {unknown_dim}}} : Column{};
  ASSERT_TRUE(take(taking, {0, 1}, first).ok());
  ASSERT_TRUE(take(taking, {1, 2}, second).ok());
  EXPECT_THAT(strings_of(first), ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(strings_of(second), ::testing::ElementsAre("b", "c"));
}

std::string fault_of(const std::vector<PlacedSpan>& spans, Unfold unfold = {}) {
  const Column in = sequences({{1, 2, 3}, {4}});
  Dense rows{2, 4};
  const auto taken = rows.take(Elements::of(in), spans, unfold);
  return taken.ok() ? "none" : taken.error().message();
}

TEST(TakeFault, NamesTheSpanAndWhatItsElementHas) {
  EXPECT_EQ(fault_of({{}, {.source = 1}}), "span 1: names source 1 of 1");
  EXPECT_EQ(fault_of({{.element = 2}}), "span 0: names element 2 of a source that has 2");
  EXPECT_EQ(fault_of({{.start = 2, .length = 2}}), "span 0: 2 frames from 2 of an element that has 3");
  EXPECT_EQ(fault_of({{.start = -1, .length = 2}}), "span 0: 2 frames from -1 of an element that has 3");
  EXPECT_EQ(fault_of({{.start = 1, .length = huge}}),
            "span 0: 9223372036854775807 frames from 1 of an element that has 3");
  EXPECT_EQ(fault_of({{.start = 4}}), "span 0: 0 frames from 4 of an element that has 3");
}

TEST(TakeFault, NamesThePlaceThatIsOutsideTheRow) {
  EXPECT_EQ(fault_of({{.row = 2}}), "span 0: names row 2 of 2");
  EXPECT_EQ(fault_of({{.row = -1}}), "span 0: names row -1 of 2");
  EXPECT_EQ(fault_of({{.length = 2, .pad_left = 1, .pad_right = 2}}),
            "span 0: 1 + 2 + 2 frames at 0 of a row that has 4");
  EXPECT_EQ(fault_of({{.length = 1, .pad_left = huge, .pad_right = huge, .at = huge}}),
            "span 0: 9223372036854775807 + 1 + 9223372036854775807 frames at 9223372036854775807 of a row that has 4");
  EXPECT_EQ(fault_of({{.pad_left = -1}}), "span 0: -1 + 0 + 0 frames at 0 of a row that has 4");
  EXPECT_EQ(fault_of({{.length = 2}, {.length = 1, .at = 1}}), "span 1: begins before the end of the span before it");
  EXPECT_EQ(fault_of({{.row = 1}, {.row = 0}}), "span 1: begins before the end of the span before it");
}

TEST(TakeFault, SourcesMustFitTheRows) {
  EXPECT_EQ(fault_of({}, Unfold{-1, 0}), "a stack of -1 frames before and 0 after each one");
  EXPECT_EQ(fault_of({}, Unfold{1, 0}), "stacked frames of shape [?,1] do not fill a frame of the rows");
  EXPECT_EQ(fault_of({}, Unfold{huge, huge}), "stacked frames of shape [?,1] do not fill a frame of the rows");
  const Column wide = sequences({{1, 2}}, 2);
  Dense rows{1, 1};
  EXPECT_EQ(rows.take(Elements::of(wide), {}).error().message(),
            "frames of a source of shape [?,2] do not fit those of the rows");
  const Column text = texts({{"a"}});
  EXPECT_EQ(rows.take(Elements::of(text), {}).error().message(), "a source of string for rows of int32");
  rows.filler = {1, 2};
  EXPECT_EQ(rows.take(Elements::of(sequences({{1}})), {}).error().message(), "a padding value of 8 bytes for int32");
}

TEST(TakeFault, TheRowsMustFillTheirMemory) {
  const Column in = sequences({{1}});
  Dense rows{1, 1};
  rows.rows_ = 2;
  EXPECT_EQ(rows.take(Elements::of(in), {}).error().message(), "2 rows of shape [1,1] in 4 bytes");
  rows.rows_ = huge;
  rows.shape = {huge, 1};
  EXPECT_FALSE(rows.take(Elements::of(in), {}).ok());
  rows = Dense{1, 1};
  EXPECT_EQ(rows.take(Elements::of(in), {{}}, IndexRange{1, 3}).error().message(), "spans 1 … 3 of 1");
  EXPECT_EQ(rows.take(Elements::of(in), {{}}, IndexRange{1, 0}).error().message(), "spans 1 … 0 of 1");
}

TEST(TakeFault, AppendsNothing) {
  const Column in = sequences({{1, 2, 3}});
  const Elements source = Elements::of(in);
  Column out{ColumnSpec{.name = "x", .dtype = DType::int32, .shape = {unknown_dim, 1}}};
  const auto fault = [&](const std::vector<PlacedSpan>& spans) {
    const auto taken = take({.sources = {&source, 1}, .spans = spans, .filler = {}}, {0, 2}, out);
    EXPECT_EQ(out.rows, 0);
    EXPECT_EQ(out.values.size(), 0U);
    return taken.ok() ? "none" : taken.error().text();
  };
  EXPECT_THAT(fault({{.length = 3}, {.length = 4, .row = 1}}), ::testing::HasSubstr("4 frames from 0"));
  EXPECT_THAT(fault({{.length = 1, .pad_right = huge}}), ::testing::HasSubstr("ends too far away"));
  EXPECT_THAT(fault({{.length = 1, .pad_right = huge - 1}}), ::testing::HasSubstr("ends too far away"));
  EXPECT_THAT(fault({{.length = 1, .pad_right = std::int64_t{1} << 60}}), ::testing::HasSubstr("row 0 has"));
  EXPECT_THAT(fault({{.length = 1, .row = 1}, {.length = 1, .row = 0}}), ::testing::HasSubstr("order of their rows"));
}

TEST(ForeignElements, ThatDoNotFitTheirMemoryAreRefused) {
  const std::vector<std::byte> bytes(12);
  const std::vector<std::int64_t> splits{0, 2, 3}, falling{0, 3, 2}, far{0, 2, 4}, odd{0, 1, 3};
  const auto fault = [](const ForeignElements& in) {
    const auto elements = Elements::of(in);
    return elements.ok() ? "none" : elements.error().message();
  };
  ForeignElements in{.dtype = DType::int32, .shape = {unknown_dim}, .rows = 2, .values = bytes, .splits = splits};
  EXPECT_EQ(fault(in), "none");
  in.splits = falling;
  EXPECT_EQ(fault(in), "row splits: split 2 is 2, which is less than 3");
  in.splits = far;
  EXPECT_EQ(fault(in), "4 values of int32 do not fit 12 bytes");
  in.splits = std::span{splits}.first(2);
  EXPECT_EQ(fault(in), "row splits: expected 2 + 1 splits, found 2");
  in = {.dtype = DType::int16, .shape = {unknown_dim, 2}, .rows = 2, .values = bytes, .splits = odd};
  EXPECT_EQ(fault(in), "row 0: 1 values are no whole frames of 2");
  in.shape = {unknown_dim, 0};
  EXPECT_EQ(fault(in), "shape [?,0]: frames without values have no splits");
  in = {.dtype = DType::int32, .shape = {2, 2}, .rows = huge, .values = bytes};
  EXPECT_EQ(fault(in), "9223372036854775807 rows of shape [2,2] are too many values");
  in = {.dtype = DType::string, .shape = {}, .rows = 2, .byte_splits = far, .bytes = std::span{bytes}.first(3)};
  EXPECT_EQ(fault(in), "byte splits: the last split is 4, but there are only 3");
}

}  // namespace
}  // namespace forebay::columns
