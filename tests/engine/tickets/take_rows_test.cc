// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/take/take_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tickets/taken_batches.h"

namespace forebay::engine {
namespace {

using ::testing::HasSubstr;

/// Records of 5, 2, 3 and 1 tokens, as many words, and an id.
class TakeRecords : public TakenBatches {
 protected:
  void SetUp() override { write(Compression::none); }
  void write(Compression compression) {
    const char* const texts[] = {R"({"id": 0, "tokens": [1, 2, 3, 4, 5], "words": ["a", "b", "c", "d", "e"]})",
                                 R"({"id": 1, "tokens": [11, 12], "words": ["f", "g"]})",
                                 R"({"id": 2, "tokens": [21, 22, 23], "words": ["h", "", "j"]})",
                                 R"({"id": 3, "tokens": [31], "words": ["k"]})"};
    std::vector<std::string> messages;
    for (const char* record : texts) messages.push_back(encode_example(testing::features_of(testing::parse(record))));
    ASSERT_TRUE(write_records(folder_.file("data"), messages, compression).ok());
    plan(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("data") + R"("]}},
      "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
                                          "tokens": {"kind": "var_len", "dtype": "int32"},
                                          "words": {"kind": "var_len", "dtype": "string"}}}},
      "steps": [{"batch": {"size": 4}}]})"));
  }
};

TEST_F(TakeRecords, WindowsOfOneRecordFillPaddedRows) {
  cut({.name = "tokens"});
  whole("id");
  EXPECT_EQ(made({{span_of(0, 0, 3)}, {span_of(0, 2, 3)}, {span_of(2, 1, 2)}}),
            "tokens: [[1,2,3],[3,4,5],[22,23,0]] of [3,3,2] id: [0,0,2]");
}

TEST_F(TakeRecords, RowsThatAreMappedOrDecompressedAreEqual) {
  write(Compression::gzip);
  cut({.name = "tokens"});
  EXPECT_EQ(made({{span_of(0, 0, 3)}, {span_of(2, 1, 2)}}), "tokens: [[1,2,3],[22,23,0]] of [3,2]");
}

TEST_F(TakeRecords, ContextIsPaddingInsideTheLength) {
  cut({.name = "tokens", .padding = Padding{Shape{6}, Scalar{std::int64_t{-1}}}});
  columns::PlacedSpan span = span_of(1, 0, 2);
  span.pad_left = 2;
  span.pad_right = 1;
  EXPECT_EQ(made({{span}, {span_of(0, 1, 3)}}), "tokens: [[-1,-1,11,12,-1,-1],[2,3,4,-1,-1,-1]] of [5,3]");
}

TEST_F(TakeRecords, ARowHasSpansOfSeveralRecords) {
  cut({.name = "tokens"});
  cut({.name = "words"});
  whole("id");
  EXPECT_EQ(made({{span_of(1, 0, 2), span_of(2, 0, 3, 3)}, {span_of(3, 0, 1)}}),
            R"(tokens: [[11,12,0,21,22,23],[31,0,0,0,0,0]] of [6,1] )"
            R"(words: [["f","g","","h","","j"],["k","","","","",""]] of [6,1] id: [1,3])");
}

TEST_F(TakeRecords, RaggedAndSparseRowsHaveTheirOwnLengths) {
  cut({.name = "tokens", .delivery = Delivery::ragged});
  cut({.name = "words", .delivery = Delivery::sparse});
  EXPECT_EQ(made({{span_of(0, 3, 2)}, {}, {span_of(2, 0, 1)}}),
            R"(tokens: [[4,5],[],[21]] of [2,0,1] words: {"indices":[[0,0],[0,1],[2,0]],"values":["d","e","h"],)"
            R"("dense_shape":[3,2]} of [2,0,1])");
}

TEST_F(TakeRecords, EmptyRowsMayBeAnywhere) {
  cut({.name = "tokens"});
  cut({.name = "words"});
  whole("id");
  const auto batch = make(spans_of({{{}, {span_of(1, 0, 2)}, {}, {span_of(3, 0, 1)}, {}}}));
  EXPECT_EQ(text(batch), R"(tokens: [[0,0],[11,12],[0,0],[31,0],[0,0]] of [0,2,0,1,0] )"
                         R"(words: [["",""],["f","g"],["",""],["k",""],["",""]] of [0,2,0,1,0] id: [0,1,0,3,0])");
  EXPECT_EQ(batch->rows(), 5);
  EXPECT_EQ(batch->valid_rows(), 2);
}

TEST_F(TakeRecords, ABatchMayHaveNoRows) {
  cut({.name = "tokens"});
  cut({.name = "words", .delivery = Delivery::ragged});
  whole("id");
  elements_.clear();
  const auto batch = make(spans_of({{}}));
  ASSERT_TRUE(batch) << error_;
  EXPECT_EQ(batch->tensor("tokens").shape, (Shape{0, 0}));
  EXPECT_EQ(batch->tensor("id").shape, Shape{0});
  EXPECT_EQ(text(batch), "tokens: [] of [] words: [] of [] id: []");
  EXPECT_EQ(batch->rows(), 0);
}

TEST_F(TakeRecords, ASpanWithoutALengthGoesToTheEndOfItsRecord) {
  cut({.name = "tokens"});
  const auto batch = make(spans_of({{{span_of(0, 3, to_the_end)}, {span_of(2, 0, to_the_end)}}}));
  EXPECT_EQ(text(batch), "tokens: [[4,5,0],[21,22,23]] of [2,3]");
  ASSERT_EQ(batch->spans(0).size(), 1);
  EXPECT_EQ(batch->spans(0)[0].length, 2);
  EXPECT_EQ(batch->spans(1)[0].length, 3);
}

TEST_F(TakeRecords, EqualRowsNeedEqualLengths) {
  cut({.name = "tokens", .delivery = Delivery::equal});
  EXPECT_EQ(made({{span_of(0, 0, 2)}, {span_of(1, 0, 2)}}), "tokens: [[1,2],[11,12]] of [2,2]");
  EXPECT_THAT(made({{span_of(0, 0, 2)}, {span_of(2, 0, 3)}}),
              AllOf(HasSubstr("record 2, "), HasSubstr("feature 'tokens': its shape differs")));
}

TEST_F(TakeRecords, WindowsOfOneSizeAreFixedTensors) {
  cut({.name = "tokens", .shape = Shape{2}, .delivery = Delivery::equal});
  const auto batch = make(spans_of({{{span_of(0, 1, 2)}, {}, {span_of(2, 1, 2)}}}));
  EXPECT_EQ(text(batch), "tokens: [[2,3],[0,0],[22,23]]");
}

TEST_F(TakeRecords, ColumnsAreMadeOfTheSpansAlone) {
  cut({.name = "tokens"});
  generate("segments", Generated::segment_ids, DType::int32, {unknown_dim});
  generate("positions", Generated::positions, DType::int32, {unknown_dim});
  generate("starts", Generated::cu_seqlens, DType::int32, {unknown_dim});
  generate("start", Generated::start, DType::int64, {});
  generate("window", Generated::window, DType::int64, {});
  RowSpans spans = spans_of({{{span_of(0, 2, 2), span_of(2, 0, 3, 3)}, {}, {span_of(0, 1, 1)}}});
  spans.windows = {7, -1, 3};
  const std::string known =
      "tokens: [[3,4,0,21,22,23],[0,0,0,0,0,0],[2,0,0,0,0,0]] of [6,0,1] "
      "segments: [[1,1,0,2,2,2],[0,0,0,0,0,0],[1,0,0,0,0,0]] of [6,0,1] "
      "positions: [[0,1,0,0,1,2],[0,0,0,0,0,0],[0,0,0,0,0,0]] of [6,0,1] "
      "starts: [[0,3,6],[0,0,0],[0,1,0]] of [3,1,2] start: [2,-1,1] window: [7,-1,3]";
  EXPECT_EQ(text(make(spans)), known);
  spans.spans[0][1].length = to_the_end;
  EXPECT_EQ(text(make(spans)), known) << "by columns that grow";
}

TEST_F(TakeRecords, StepsRunOnWholeRecordsAndOnRows) {
  const ColumnId cast = place(program_.taking->element_steps, "cast", R"({"tensor": "id", "dtype": "float32"})");
  program_.taking->whole.push_back(cast);
  cut({.name = "tokens", .shape = Shape{2}, .delivery = Delivery::equal, .delivered = false});
  const ColumnId last = place(program_.late, "slice", R"({"tensor": "tokens", "slice": "[-1]"})");
  deliver({.id = cast, .spec = program_.schema[cast]});
  deliver({.id = last, .spec = program_.schema[last]});
  EXPECT_EQ(made({{span_of(0, 1, 2)}, {span_of(2, 0, 2)}}), "id: [0.0,2.0] tokens: [3,22]");
}

TEST_F(TakeRecords, StepsOnRowsReadRowsOfAnyLength) {
  const ColumnId rows = cut({.name = "tokens", .delivered = false});
  const ColumnId cast = place(program_.late, "cast", R"({"tensor": "tokens", "dtype": "int64"})");
  EXPECT_EQ(program_.late[0].reads, std::vector<ColumnId>{rows});
  Output output{.id = cast, .spec = program_.schema[cast]};
  output.spec.delivery = Delivery::padded;
  deliver(output);
  EXPECT_EQ(made({{span_of(0, 1, 2)}, {span_of(2, 0, 3)}}), "tokens: [[2,3,0],[21,22,23]] of [2,3]");
}

TEST_F(TakeRecords, ATicketDecodesEachRecordThatItUsesOnceAndNoOther) {
  cut({.name = "tokens"});
  EXPECT_EQ(made({{span_of(0, 0, 3)}, {span_of(2, 0, 3)}, {span_of(0, 2, 3)}, {span_of(2, 1, 1)}}),
            "tokens: [[1,2,3],[21,22,23],[3,4,5],[22,0,0]] of [3,3,3,1]");
  begin(spans_of({{{span_of(0, 0, 3)}, {span_of(2, 0, 3)}, {span_of(0, 2, 3)}}}), 1);
  ASSERT_TRUE(executor_->cut(*job_).ok());
  Worker worker = executor_->worker(0);
  ASSERT_FALSE(executor_->run(*job_->tickets[0], worker));
  const ColumnBlock& elements = worker.take->ticket.columns->block;
  EXPECT_EQ(elements.rows, 2);
  EXPECT_EQ(elements[program_.taking->cut[0].from].values.span<std::int32_t>().size(), 5U + 3U);
}

TEST_F(TakeRecords, TwoBatchesShareARecord) {
  cut({.name = "tokens"});
  const auto first = make(spans_of({{{span_of(0, 0, 3)}, {span_of(0, 1, 3)}}}));
  const std::string before = text(first);
  const auto second = make(spans_of({{{span_of(0, 2, 3)}}}));
  EXPECT_EQ(before, "tokens: [[1,2,3],[2,3,4]] of [3,3]");
  EXPECT_EQ(text(first), before);
  EXPECT_EQ(text(second), "tokens: [[3,4,5]] of [3]");
}

TEST_F(TakeRecords, AKnownLengthIsCopiedOnceIntoTheTensor) {
  const ColumnId tokens = cut({.name = "tokens"});
  begin(spans_of({{{span_of(0, 0, 3)}, {span_of(2, 1, 2)}}}), 1);
  ASSERT_TRUE(executor_->cut(*job_).ok());
  Worker worker = executor_->worker(0);
  ASSERT_FALSE(executor_->run(*job_->tickets[0], worker));
  const std::byte* const rows = job_->fixed_outputs[0];
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(job_->tickets[0]->columns->block[tokens].values.size(), 0) << "nothing is left for the finisher";
  ASSERT_FALSE(executor_->finish(*job_));
  EXPECT_EQ(Batch{job_->content}.tensor("tokens").data, rows);
}

TEST_F(TakeRecords, EveryRowKnowsItsSpans) {
  cut({.name = "tokens"});
  RowSpans spans = spans_of({{{span_of(1, 0, 2), span_of(0, 2, 3, 2)}, {}, {span_of(3, 0, 1)}}});
  spans.windows = {4, -1, 0};
  const auto batch = make(spans);
  ASSERT_TRUE(batch) << error_;
  const std::vector<BatchSpan> row = batch->spans(0);
  ASSERT_EQ(row.size(), 2);
  EXPECT_EQ(row[0].origin.record, 1);
  EXPECT_EQ(row[1].origin.record, 0);
  EXPECT_EQ(row[1].origin.start, 2);
  EXPECT_EQ(row[1].origin.window, 4);
  EXPECT_EQ(row[1].length, 3);
  EXPECT_EQ(row[1].at, 2);
  EXPECT_EQ(batch->key(row[1].origin), folder_.file("data") + ":0");
  EXPECT_TRUE(batch->spans(1).empty());
  EXPECT_EQ(batch->origin(1).record, -1);
  EXPECT_EQ(batch->key(1), "");
  EXPECT_EQ(batch->origin(2).record, 3);
}

TEST_F(TakeRecords, ASpanThatDoesNotFitItsRecordIsAnErrorOfItsRow) {
  cut({.name = "tokens"});
  EXPECT_THAT(made({{span_of(0, 0, 2)}, {span_of(2, 2, 2)}}),
              AllOf(HasSubstr("record 2, byte "), HasSubstr("feature 'tokens': 2 frames from frame 2 on are asked for, "
                                                            "but this record has 3")));
  EXPECT_EQ(error_row_, 1);
  EXPECT_THAT(made({{span_of(1, 3, to_the_end)}}), HasSubstr("but this record has 2"));
}

TEST_F(TakeRecords, ATensorLargerThanTheBudgetIsRefusedBeforeItIsMade) {
  cut({.name = "tokens", .padding = Padding{Shape{std::int64_t{1} << 40}, Scalar{}}});
  EXPECT_THAT(made({{span_of(0, 0, 2)}, {span_of(1, 0, 2)}}), HasSubstr("more than the memory budget of 1073741824"));
}

}  // namespace
}  // namespace forebay::engine
