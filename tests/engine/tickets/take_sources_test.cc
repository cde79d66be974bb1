// SPDX-License-Identifier: Apache-2.0
// Spans of elements that are sequence examples, rows of arrays, or corrupt.
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/memory/catch_all.h"
#include "tests/engine/tickets/taken_batches.h"

namespace forebay::engine {
namespace {

using ::testing::HasSubstr;

/// Sequences of 3 and 2 steps of x (2 floats), and of 2 and 4 steps of y, with the word `name`.
class TakeSequences : public TakenBatches {
 protected:
  void SetUp() override {
    std::vector<std::string> messages;
    for (const char* const sequence :
         {R"({"context": {"name": ["one"]}, "lists": {"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "y": [[1], [2]]}})",
          R"({"context": {"name": ["two"]}, "lists": {"x": [[7.0, 8.0], [9.5, 9.0]], "y": [[5], [6], [7], [8]]}})"})
      messages.push_back(testing::sequence_example_of(testing::parse(sequence)));
    ASSERT_TRUE(write_records(folder_.file("data"), messages, Compression::none).ok());
    plan(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("data") + R"("]}},
      "decode": {"sequence_example": {
        "context": {"name": {"dtype": "string", "shape": []}},
        "lists": {"x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2]},
                  "y": {"kind": "fixed_len_sequence", "dtype": "int64", "shape": []}}}},
      "steps": [{"batch": {"size": 2}}]})"));
  }
};

TEST_F(TakeSequences, EachAxisHasSpansOfItsOwn) {
  cut({.name = "x"});
  cut({.name = "y", .axis = 1});
  whole("name");
  const RowSpans spans = spans_of({{{span_of(0, 1, 2)}, {span_of(1, 0, 1)}, {span_of(0, 0, 0)}},
                                   {{span_of(0, 0, 2)}, {span_of(1, 1, 3)}, {span_of(0, 1, 1)}}});
  EXPECT_EQ(text(make(spans)),
            "x: [[[3.0,4.0],[5.0,6.0]],[[7.0,8.0],[0.0,0.0]],[[0.0,0.0],[0.0,0.0]]] of [2,1,0] "
            R"(y: [[1,2,0],[6,7,8],[2,0,0]] of [2,3,1] name: ["one","two","one"])");
}

TEST_F(TakeSequences, StackedFramesSeeTheirNeighboursOutsideTheSpan) {
  cut({.name = "x", .shape = Shape{unknown_dim, 6}});
  program_.taking->cut.back().unfold = {.left = 1, .right = 1};
  EXPECT_EQ(made({{span_of(0, 1, 2)}, {span_of(1, 0, 1)}}),
            "x: [[[1.0,2.0,3.0,4.0,5.0,6.0],[3.0,4.0,5.0,6.0,0.0,0.0]],"
            "[[0.0,0.0,7.0,8.0,9.5,9.0],[0.0,0.0,0.0,0.0,0.0,0.0]]] of [2,1]");
}

TEST_F(TakeSequences, TensorsOfOneAxisMustBeEquallyLong) {
  cut({.name = "x"});
  cut({.name = "y"});
  EXPECT_THAT(made({{span_of(0, 1, 2)}}), AllOf(HasSubstr("record 0, "), HasSubstr("feature 'y': 2 frames from frame 1 "
                                                                                   "on are asked for, but this record "
                                                                                   "has 2")));
}

/// 400 records of 20 + i % 30 tokens: record i counts from 1000 i. About 1.7 MB.
class ManyTaken : public TakenBatches {
 protected:
  static constexpr std::int64_t records_made = 400;
  static std::int64_t length_of(std::int64_t record) { return 20 + record % 30; }

  void SetUp() override {
    std::vector<std::string> messages;
    for (std::int64_t i = 0; i < records_made; ++i) {
      std::vector<std::int64_t> tokens(static_cast<std::size_t>(length_of(i)));
      std::iota(tokens.begin(), tokens.end(), 1000 * i);
      messages.push_back(encode_example({{"tokens", tokens},
                                         {"id", std::vector<std::int64_t>{i}},
                                         {"text", std::vector<std::string>{std::string(4000, 'x')}}}));
    }
    ASSERT_TRUE(write_records(folder_.file("data"), messages, Compression::none).ok());
  }
  void plan_records(std::int64_t size) {
    plan(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("data") + R"("]}},
      "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
                                          "text": {"dtype": "string", "shape": []},
                                          "tokens": {"kind": "var_len", "dtype": "int64"}}}},
      "steps": [{"batch": {"size": )" +
                        std::to_string(size) + "}}]}"));
  }
  /// Windows of 8 frames, each 4 after the one before, of all records.
  static std::vector<Row> windows() {
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < records_made; ++i) {
      for (std::int64_t start = 0; start + 8 <= length_of(i); start += 4)
        rows.push_back({span_of(static_cast<std::uint32_t>(i), start, 8)});
    }
    return rows;
  }
};

TEST_F(ManyTaken, TicketsMakeTheSameBatchForAnyNumberOfThreads) {
  plan_records(records_made);
  const ColumnId of_elements = id_of("tokens");
  cut({.name = "tokens"});
  cut({.name = "tokens", .delivery = Delivery::ragged, .from = of_elements});
  whole("id");
  whole("text");
  std::vector<Row> rows = windows();
  std::swap(rows[3], rows[rows.size() - 2]);  // an element that is used far apart
  const auto one = make(spans_of({rows}), 1);
  ASSERT_TRUE(one) << error_;
  EXPECT_EQ(job_->cut, 1);
  const std::string expected = text(one);
  const auto eight = make(spans_of({rows}), 8, true);
  EXPECT_GT(job_->cut, 1);
  EXPECT_EQ(text(eight), expected);
  const std::span<const std::int64_t> tokens = one->tensor("tokens").as<std::int64_t>();
  ASSERT_EQ(tokens.size(), rows.size() * 8);
  for (std::size_t row = 0; row < rows.size(); ++row)
    EXPECT_EQ(tokens[row * 8], 1000 * rows[row][0].element + rows[row][0].start);
}

TEST_F(ManyTaken, TicketsShareALongRow) {
  plan_records(records_made);
  cut({.name = "tokens"});
  whole("id");
  whole("text");
  generate("segments", Generated::segment_ids, DType::int32, {unknown_dim});
  Row row;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < records_made; ++i) {
    row.push_back(span_of(static_cast<std::uint32_t>(i), 2, length_of(i) - 2, at));
    row.back().pad_left = 1;
    at = row.back().end() + i % 2;
  }
  const std::vector<Row> rows{{span_of(5, 0, 3)}, row, {span_of(7, 0, 2)}};
  const std::string expected = text(make(spans_of({rows}), 1));
  EXPECT_EQ(job_->cut, 1);
  const auto shared = make(spans_of({rows}), 8, true);
  EXPECT_GT(job_->cut, 3);
  EXPECT_EQ(job_->tickets[1]->first_row, 1);
  EXPECT_EQ(job_->tickets[2]->first_row, 1);
  EXPECT_EQ(text(shared), expected);
}

TEST_F(ManyTaken, RowsOfOneRecordStayInOneTicket) {
  plan_records(records_made);
  cut({.name = "tokens"});
  ASSERT_TRUE(make(spans_of({windows()}), 8)) << error_;
  ASSERT_GT(job_->cut, 1);
  const RowSpans& spans = job_->content->layout.taken;
  for (std::size_t i = 1; i < job_->cut; ++i) {
    const std::int64_t first = job_->tickets[i]->first_row;
    EXPECT_NE(spans.of_row(0, first)[0].element, spans.of_row(0, first - 1)[0].element);
  }
}

TEST_F(ManyTaken, ACorruptRecordIsAnErrorOfTheFirstRowThatUsesIt) {
  const std::string bytes(8, 'z');
  std::fstream file{folder_.file("data"), std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(200 * 4200);
  file.write(bytes.data(), std::ssize(bytes));
  file.close();
  plan_records(records_made);
  cut({.name = "tokens"});
  const std::vector<Row> rows = windows();
  EXPECT_FALSE(make(spans_of({rows}), 1));
  const std::string error = error_;
  const std::int64_t row = error_row_;
  ASSERT_GE(row, 0) << error;
  const std::uint32_t record = rows[static_cast<std::size_t>(row)][0].element;
  EXPECT_NE(rows[static_cast<std::size_t>(row) - 1][0].element, record);
  EXPECT_THAT(error, AllOf(HasSubstr("record " + std::to_string(record) + ", byte "), HasSubstr("checksum")));
  EXPECT_FALSE(make(spans_of({rows}), 8, true));
  EXPECT_EQ(error_, error);
  EXPECT_EQ(error_row_, row);
}

TEST_F(ManyTaken, ARecordLargerThanTheBudgetIsNamed) {
  limit_ = 100 << 10;
  std::vector<std::int64_t> tokens(20000, 1);
  ASSERT_TRUE(write_records(folder_.file("data"),
                            {encode_example({{"tokens", tokens},
                                             {"id", std::vector<std::int64_t>{0}},
                                             {"text", std::vector<std::string>{""}}})},
                            Compression::none)
                  .ok());
  plan_records(1);
  cut({.name = "tokens"});
  EXPECT_THAT(made({{span_of(0, 0, 3)}}),
              AllOf(HasSubstr("record 0, "), HasSubstr("this record decodes to 160016 bytes, more than the memory")));
}

TEST_F(ManyTaken, AStopIsSeenInsideATicket) {
  plan_records(records_made);
  cut({.name = "tokens"});
  begin(spans_of({windows()}), 1);
  ASSERT_TRUE(executor_->cut(*job_).ok());
  pool_->close();
  Worker worker = executor_->worker(0);
  EXPECT_THROW(static_cast<void>(executor_->run(*job_->tickets[0], worker)), Closed);
}

TEST_F(ManyTaken, TheMemoryOfElementsIsCharged) {
  plan_records(records_made);
  cut({.name = "tokens"});
  whole("text");
  begin(spans_of({windows()}), 1);
  ASSERT_TRUE(executor_->cut(*job_).ok());
  const std::int64_t before = pool_->used();
  Worker worker = executor_->worker(0);
  ASSERT_FALSE(executor_->run(*job_->tickets[0], worker));
  EXPECT_GE(worker.take->ticket.columns->charge.bytes(), records_made * 4000);
  EXPECT_GE(pool_->used(), before + worker.take->ticket.columns->charge.bytes());
}

/// A batch of random spans: their elements in the order of their first use, some of them used again.
struct RandomSpans {
  std::mt19937_64 bits;
  std::vector<Row> rows;

  RandomSpans(std::uint64_t seed, std::int64_t row_count, std::int64_t (*length_of)(std::int64_t)) : bits{seed} {
    std::int64_t next = 0;
    const bool known = below(2) == 0;
    for (std::int64_t row = 0; row < row_count; ++row) {
      rows.emplace_back();
      const std::int64_t spans = below(8) == 0 ? 30 : below(4);
      for (std::int64_t i = 0; i < spans; ++i) {
        const std::int64_t element = next == 0 || (next < 400 && below(3) > 0) ? next++ : below(next);
        const std::int64_t start = below(length_of(element) + 1);
        columns::PlacedSpan span = span_of(static_cast<std::uint32_t>(element), start, 0);
        span.length = below(length_of(element) - start + 1);
        span.pad_left = below(3);
        span.pad_right = below(3);
        span.at = rows.back().empty() ? below(3) : rows.back().back().end() + below(2);
        if (!known && i + 1 == spans && below(3) == 0) span.length = to_the_end;
        rows.back().push_back(span);
      }
    }
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(bound));
  }
};

TEST_F(ManyTaken, RandomSpansAreWhatACopyOfEachValueGives) {
  plan_records(records_made);
  const ColumnId of_elements = id_of("tokens");
  cut({.name = "tokens", .padding = Padding{Shape{unknown_dim}, Scalar{std::int64_t{-7}}}});
  cut({.name = "tokens", .delivery = Delivery::ragged, .from = of_elements});
  whole("id");
  whole("text");
  std::size_t max_tickets = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomSpans random{seed, 1 + static_cast<std::int64_t>(seed * 5), length_of};
    std::vector<std::vector<std::int64_t>> rows;
    std::size_t longest = 0;
    for (const Row& row : random.rows) {
      rows.emplace_back();
      for (const columns::PlacedSpan& span : row) {
        rows.back().resize(static_cast<std::size_t>(span.at + span.pad_left), -7);
        const std::int64_t end = span.length == to_the_end ? length_of(span.element) : span.start + span.length;
        for (std::int64_t i = span.start; i < end; ++i) rows.back().push_back(1000 * span.element + i);
        rows.back().resize(rows.back().size() + static_cast<std::size_t>(span.pad_right), -7);
      }
      longest = std::max(longest, rows.back().size());
    }
    std::vector<std::int64_t> padded, flat;
    for (const auto& row : rows) {
      padded.insert(padded.end(), row.begin(), row.end());
      padded.resize(padded.size() + longest - row.size(), -7);
      for (const std::int64_t value : row) flat.push_back(value == -7 ? 0 : value);
    }
    for (const std::int64_t threads : {1, 8}) {
      const auto batch = make(spans_of({random.rows}), threads, threads == 8);
      ASSERT_TRUE(batch) << error_ << ", seed " << seed;
      const std::span<const std::int64_t> got = batch->tensor("tokens").as<std::int64_t>();
      ASSERT_TRUE(std::ranges::equal(got, padded)) << "seed " << seed << ", " << threads << " threads";
      const Tensor& ragged = job_->content->values[1].values;
      ASSERT_TRUE(std::ranges::equal(ragged.as<std::int64_t>(), flat)) << "seed " << seed;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::int64_t id = random.rows[row].empty() ? 0 : std::int64_t{random.rows[row][0].element};
        ASSERT_EQ(batch->tensor("id").as<std::int64_t>()[row], id);
        ASSERT_EQ(batch->tensor("text").string(static_cast<std::int64_t>(row)).empty(), random.rows[row].empty());
      }
      max_tickets = std::max(max_tickets, job_->cut);
    }
  }
  EXPECT_GT(max_tickets, 3U);
}

/// Arrays: frames [4, 3, 2] of int16, tokens of 0 to 3, every second column of a table, and words.
class TakeArrays : public TakenBatches {
 protected:
  void SetUp() override {
    std::iota(frames_.begin(), frames_.end(), std::int16_t{0});
    std::iota(table_.begin(), table_.end(), 0.0F);
  }
  void plan_arrays() {
    const auto rows = array_rows(
        {{.name = "frames", .dtype = DType::int16, .shape = {4, 3, 2}, .data = frames_.data()},
         {.name = "strided", .dtype = DType::float32, .shape = {4, 3}, .data = table_.data(), .strides = {24, 8}},
         {.name = "label", .dtype = DType::int64, .shape = {4}, .data = labels_},
         {.name = "words", .dtype = DType::string, .shape = {4, 3}, .data = words_, .byte_splits = splits_}},
        nullptr);
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    plan(testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": 4}}]})"),
         {{"in", *rows}});
  }

  std::vector<std::int16_t> frames_ = std::vector<std::int16_t>(24);
  std::vector<float> table_ = std::vector<float>(24);
  static constexpr std::int64_t labels_[4] = {7, 8, 9, 10};
  static constexpr const char* words_ = "abcdefghijkl";
  std::vector<std::int64_t> splits_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
};

TEST_F(TakeArrays, PlainColumnsAreTakenStraightFromTheArrays) {
  plan_arrays();
  cut({.name = "frames", .shape = Shape{unknown_dim, 2}});
  cut({.name = "words", .shape = Shape{unknown_dim}});
  whole("label");
  begin(spans_of({{{span_of(0, 1, 2)}, {span_of(3, 0, 1), span_of(0, 0, 1, 1)}, {}}}), 1);
  ASSERT_TRUE(executor_->cut(*job_).ok());
  Worker worker = executor_->worker(0);
  ASSERT_FALSE(executor_->run(*job_->tickets[0], worker));
  EXPECT_EQ(worker.take->ticket.columns, nullptr) << "no element is copied";
  ASSERT_FALSE(executor_->finish(*job_));
  EXPECT_EQ(text(Batch{job_->content}), R"(frames: [[[2,3],[4,5]],[[18,19],[0,1]],[[0,0],[0,0]]] of [2,2,0] )"
                                        R"(words: [["b","c"],["j","a"],["",""]] of [2,2,0] label: [7,10,0])");
}

TEST_F(TakeArrays, OtherColumnsAreCopiedFirst) {
  plan_arrays();
  cut({.name = "strided", .shape = Shape{unknown_dim}});
  cut({.name = "frames", .shape = Shape{unknown_dim, 2}, .delivery = Delivery::ragged});
  const auto batch = make(spans_of({{{span_of(2, 1, 2)}, {span_of(1, 0, 1)}}}), 8);
  EXPECT_EQ(text(batch), "strided: [[14.0,16.0],[6.0,0.0]] of [2,1] frames: [[[14,15],[16,17]],[[6,7]]] of [2,1]");
  EXPECT_EQ(batch->origin(0).record, 2);
  EXPECT_EQ(batch->key(0), "arrays:2");
}

TEST_F(TakeArrays, StepsOnElementsWorkOnCopies) {
  plan_arrays();
  const ColumnId cast = place(program_.taking->element_steps, "cast", R"({"tensor": "frames", "dtype": "int32"})");
  Output output{.id = 0, .spec = program_.schema[cast]};
  output.spec.shape = Shape{unknown_dim, 2};
  output.spec.delivery = Delivery::padded;
  output.id = program_.schema.put(output.spec);
  program_.taking->cut.push_back({cast, output.id, 0});
  deliver(output);
  EXPECT_EQ(made({{span_of(1, 1, 2)}, {span_of(0, 2, 1)}}), "frames: [[[8,9],[10,11]],[[4,5],[0,0]]] of [2,1]");
  EXPECT_EQ(frames_[8], 8);
}

}  // namespace
}  // namespace forebay::engine
