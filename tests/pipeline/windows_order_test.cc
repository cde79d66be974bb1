// SPDX-License-Identifier: Apache-2.0
// The windows that the order plane decides, without the tickets that copy them.
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

using Lines = std::vector<std::string>;

/// Files of sequences; record r of a file has `lengths[r]` frames.
class WindowsOfFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::vector<std::int64_t>& lengths, Compression compression = {}) {
    std::vector<std::string> messages;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      std::vector<std::int64_t> frames(static_cast<std::size_t>(lengths[r]));
      std::iota(frames.begin(), frames.end(), static_cast<std::int64_t>(100 * r));
      messages.push_back(encode_example(
          {{"x", frames}, {"y", frames}, {"id", std::vector<std::int64_t>{static_cast<std::int64_t>(r)}}}));
    }
    ASSERT_TRUE(write_records(folder_.file(name), messages, compression).ok());
  }

  /// Changes a byte in the payload of a record.
  static void break_record(const std::string& path, std::int64_t record) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    std::int64_t at = 0;
    for (; record > 0; --record) {
      std::uint64_t length = 0;
      file.seekg(at);
      file.read(reinterpret_cast<char*>(&length), sizeof length);
      at += static_cast<std::int64_t>(length) + 16;
    }
    file.seekp(at + 14);
    file.put('#');
  }

  void plan(const std::string& steps, const std::string& options = "") {
    const std::string document = fmt::format(
        R"({{"source": {{"tfrecord": {{"files": ["{}"]}}}},
            "decode": {{"example": {{"features": {{"x": {{"kind": "var_len", "dtype": "int64"}},
                                                   "y": {{"kind": "var_len", "dtype": "int64"}},
                                                   "id": {{"dtype": "int64", "shape": []}}}}}}}},
            "steps": [{}]{}}})",
        folder_.file("part-*"), steps, options);
    auto made = Plan::make(*parse_json(document));
    ASSERT_TRUE(made.ok()) << made.error().text();
    plan_.emplace(*std::move(made));
  }

  /// One line for each row: its spans on the first axis, as record[start,end) with padding in parentheses.
  [[nodiscard]] Lines rows(Position start = {}, Shard shard = {}) {
    const Program& program = program_of(*plan_);
    const auto pool = std::make_shared<BufferPool>(std::int64_t{64} << 20);
    OpenFiles files{program, pool};
    OrderPlane order{program, files, start, shard};
    Lines out;
    std::vector<Position> after;
    while (true) {
      BatchLayout layout;
      const auto more = order.next(layout);
      if (!more.ok()) return out.push_back("error: " + more.error().text()), out;
      if (!*more) break;
      add_rows(layout, out);
      out.push_back("--");
      positions_.push_back(layout.after);
      files.collect(layout.number);
    }
    EXPECT_EQ(files.table().pinned_bytes(), 0) << "every element is released";
    return out;
  }

  static void add_rows(const BatchLayout& layout, Lines& out) {
    const std::size_t first = out.size();
    out.resize(first + static_cast<std::size_t>(layout.rows));
    for (const columns::PlacedSpan& span : layout.taken.spans[0]) {
      std::string& line = out[first + static_cast<std::size_t>(span.row)];
      const auto pad = [](std::int64_t frames) { return frames == 0 ? "" : fmt::format("({})", frames); };
      line += fmt::format("{}{}{}[{},{}){}", line.empty() ? "" : " ", pad(span.pad_left),
                          layout.record_of(span.element), span.start, span.start + span.length, pad(span.pad_right));
    }
  }

  testing::Folder folder_;
  std::optional<Plan> plan_;
  std::vector<Position> positions_;
};

TEST_F(WindowsOfFiles, ContinuousWindowsCrossRecordsAndNotFiles) {
  write("part-0", {4, 3, 3});
  write("part-1", {2, 2});
  plan(R"({"continuous": {"min_window": 3, "max_window": 3, "tail": "keep"}}, {"batch": {"size": 4}})");
  EXPECT_EQ(rows(),
            (Lines{"0[0,3)", "0[3,4) 1[0,2)", "1[2,3) 2[0,2)", "2[2,3)", "--", "0[0,2) 1[0,1)", "1[1,2)", "--"}));
}

TEST_F(WindowsOfFiles, DiscreteWindowsAreWholeRecordsAndEmptyOnesCount) {
  write("part-0", {2, 3, 0, 0, 1, 2, 1});
  write("part-1", {4});
  plan(R"({"discrete": {"min_window": 2, "max_window": 2, "tail": "keep", "number": "n"}}, {"batch": {"size": 3}})");
  EXPECT_EQ(rows(), (Lines{"0[0,2) 1[0,3)", "2[0,0) 3[0,0)", "4[0,1) 5[0,2)", "--", "6[0,1)", "0[0,4)", "--"}));
}

TEST_F(WindowsOfFiles, NoDiscreteWindowLiesOnBothSidesOfASkippedRecord) {
  write("part-0", {1, 2, 3, 4, 5, 6});
  break_record(folder_.file("part-0"), 3);
  plan(R"({"discrete": {"min_window": 2, "max_window": 2, "tail": "keep"}}, {"batch": {"size": 10}})",
       R"(, "on_corrupt": "skip_record")");
  EXPECT_EQ(rows(), (Lines{"0[0,1) 1[0,2)", "2[0,3)", "4[0,5) 5[0,6)", "--"}));
}

TEST_F(WindowsOfFiles, ChunksAreCutOutOfEachSequence) {
  write("part-0", {5, 0, 3});
  plan(R"({"chunk": {"size": 3, "step": 2}}, {"batch": {"size": 10}})");
  EXPECT_EQ(rows(), (Lines{"0[0,3)", "0[2,5)", "0[4,5)", "2[0,3)", "2[2,3)", "--"}));
}

TEST_F(WindowsOfFiles, ContextWidensChunksByFramesAndPadding) {
  write("part-0", {5});
  plan(R"({"chunk": {"size": 3}}, {"context": {"window": {"x": 3}}}, {"batch": {"size": 10}})");
  EXPECT_EQ(rows(), (Lines{"(1)0[0,4)", "0[2,5)(1)", "--"}));
}

TEST_F(WindowsOfFiles, AFilterAsksForTheLengthOfWindowsOrForTensorsThatAreNotCut) {
  write("part-0", {5, 2, 4});
  plan(R"({"chunk": {"size": 3}}, {"filter": {"where": "length(x) == 3"}}, {"filter": {"where": "id != 0"}},
          {"batch": {"size": 10}})");
  EXPECT_EQ(rows(), (Lines{"2[0,3)", "--"}));
}

TEST_F(WindowsOfFiles, OrdersBeforeMoveSequencesAndOrdersAfterMoveWindows) {
  write("part-0", {4, 4, 4, 4});
  plan(R"({"skip": {"count": 1}}, {"chunk": {"size": 2}}, {"take": {"count": 3}}, {"batch": {"size": 2}})");
  EXPECT_EQ(rows(), (Lines{"1[0,2)", "1[2,4)", "--", "2[0,2)", "--"}));
}

TEST_F(WindowsOfFiles, NoWindowLiesOnBothSidesOfASkippedRecord) {
  write("part-0", {2, 2, 2, 2, 2, 2});
  break_record(folder_.file("part-0"), 3);
  plan(R"({"continuous": {"min_window": 3, "max_window": 3, "tail": "keep"}}, {"batch": {"size": 10}})",
       R"(, "on_corrupt": "skip_record")");
  EXPECT_EQ(rows(), (Lines{"0[0,2) 1[0,1)", "1[1,2) 2[0,2)", "4[0,2) 5[0,1)", "5[1,2)", "--"}));
}

TEST_F(WindowsOfFiles, TheWindowsBeforeAFaultComeFirst) {
  std::vector<std::string> messages;
  for (const std::int64_t frames : {4, 4, 1}) {
    const std::vector<std::int64_t> x(4), y(static_cast<std::size_t>(frames));
    messages.push_back(encode_example({{"x", x}, {"y", y}, {"id", std::vector<std::int64_t>{0}}}));
  }
  ASSERT_TRUE(write_records(folder_.file("part-0"), messages).ok());
  plan(R"({"continuous": {"min_window": 3, "max_window": 3}}, {"batch": {"size": 1}})");
  const Lines got = rows();
  ASSERT_EQ(got.size(), 5U);
  EXPECT_EQ(got[2], "0[3,4) 1[0,2)");
  EXPECT_THAT(got.back(), ::testing::MatchesRegex(
                              "error: .*part-0, record 2: 'x' has 4 frames and 'y' has 1; all tensors of a window have "
                              "the same first size"));
}

/// Plans for restarts: every kind of window with orders around it.
class WindowRestart : public WindowsOfFiles, public ::testing::WithParamInterface<const char*> {};

TEST_P(WindowRestart, IsTheRestAtEveryBatch) {
  std::vector<std::int64_t> lengths(60);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i * 7 % 11);
  write("part-0", lengths);
  write("part-1", {3, 0, 9}, Compression::gzip);
  write("part-2", {});
  write("part-3", lengths, Compression::zlib);
  plan(GetParam(), R"(, "epochs": 2, "seed": 3)");
  const Lines all = rows();
  ASSERT_GT(all.size(), 20U) << all.front();
  const std::vector<Position> positions = positions_;
  std::size_t line = 0;
  for (const Position& at : positions) {
    while (all[line++] != "--") {}
    EXPECT_EQ(rows(at), Lines(all.begin() + static_cast<std::ptrdiff_t>(line), all.end())) << "batch " << at.next;
  }
}

TEST_P(WindowRestart, ShardsDealTheRows) {
  write("part-0", {9, 4, 0, 12, 3, 3, 8, 40});
  plan(GetParam());
  const Lines all = rows();
  Lines dealt[2] = {rows({}, {.index = 0, .count = 2}), rows({}, {.index = 1, .count = 2})};
  Lines together;
  for (auto a = dealt[0].begin(), b = dealt[1].begin(); a != dealt[0].end(); ++a, ++b) {
    for (; *a != "--"; ++a) together.push_back(*a);
    for (; *b != "--"; ++b) together.push_back(*b);
    together.push_back("--");
  }
  EXPECT_EQ(together, all);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, WindowRestart,
    ::testing::Values(
        R"({"continuous": {"min_window": 2, "max_window": 5, "tail": "keep"}}, {"batch": {"size": 8}})",
        R"({"continuous": {"min_window": 7, "max_window": 7, "stride": 3}}, {"interleave": {"cycle": 3, "block": 2}},
           {"shuffle": {"buffer": 20}}, {"batch": {"size": 8}})",
        R"({"continuous": {"min_window": 1, "max_window": 2, "min_stride": 1, "max_stride": 20}},
           {"batch": {"size": 4, "remainder": "drop"}})",
        R"({"discrete": {"min_window": 1, "max_window": 3}}, {"batch": {"size": 4}})",
        R"({"discrete": {"min_window": 2, "max_window": 4, "tail": "keep"}}, {"interleave": {"cycle": 3}},
           {"shuffle": {"buffer": 20}}, {"batch": {"size": 3}})",
        R"({"shuffle": {"buffer": 8}}, {"chunk": {"size": 4, "step": 3}}, {"shuffle": {"buffer": 30}},
           {"batch": {"size": 8}})",
        R"({"shuffle": {"global": true}}, {"chunk": {"size": 4}}, {"context": {"window": 3}}, {"batch": {"size": 8}})",
        R"({"shuffle": {"buffer": 8}}, {"unbatch": {"start": "at"}}, {"filter": {"where": "at % 3 != 1"}},
           {"shuffle": {"buffer": 30}}, {"batch": {"size": 12}})",
        R"({"filter": {"where": "id % 3 != 0"}}, {"chunk": {"size": 5, "variance": 0.5}},
           {"filter": {"where": "length(x) > 2"}}, {"batch": {"size": 8}})"));

}  // namespace
}  // namespace forebay::engine
