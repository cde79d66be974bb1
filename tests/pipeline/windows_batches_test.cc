// SPDX-License-Identifier: Apache-2.0
// Batches of windows, from the document to the tensors.
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/forebay.h>

#include "tests/engine/order/stream_files.h"
#include "tests/pipeline/tensors_json.h"

namespace forebay {
namespace {

using testing::Delivered;
using ::testing::HasSubstr;

/// Files of records: frame f of record r of file n is 1000000 n + 1000 r + f in `x`, its text in `words`.
class WindowBatches : public ::testing::Test {
 protected:
  static std::int64_t length_of(std::int64_t record) { return record * 7 % 23; }

  void write(std::int64_t file, std::int64_t count, Compression compression = Compression::none) {
    std::vector<std::string> messages;
    for (std::int64_t r = 0; r < count; ++r) {
      std::vector<std::int64_t> frames(static_cast<std::size_t>(length_of(r)));
      std::iota(frames.begin(), frames.end(), 1000000 * file + 1000 * r);
      std::vector<std::string> words;
      for (const std::int64_t frame : frames) words.push_back(std::to_string(frame));
      ExampleMap features{{"x", frames}, {"id", std::vector<std::int64_t>{1000000 * file + 1000 * r}}};
      if (!words.empty()) features["words"] = words;
      messages.push_back(encode_example(features));
    }
    ASSERT_TRUE(write_records(folder_.file("part-" + std::to_string(file)), messages, compression).ok());
  }

  [[nodiscard]] Json document(const std::string& steps, const std::string& more = "") const {
    return testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("part-*") + R"("]}},
      "decode": {"example": {"features": {"x": {"kind": "var_len", "dtype": "int64"},
                                          "words": {"kind": "var_len", "dtype": "string"},
                                          "id": {"dtype": "int64", "shape": []}}}},
      "steps": [)" + steps +
                          "]" + more + "}");
  }

  /// The batches as JSON, each tensor by name; or the error.
  [[nodiscard]] static std::vector<std::string> texts(const Json& document, const std::string& tensor) {
    auto loader = load(document);
    if (!loader.ok()) return {loader.error().text()};
    std::vector<std::string> out;
    for (Batch& batch : loader->batches()) out.push_back(testing::to_json(*batch.find(tensor)).text());
    if (!loader->status().ok()) out.push_back(loader->status().error().text());
    return out;
  }

  testing::Folder folder_;
};

/// Every frame of each row is the one that the row's spans name. Returns the number of rows.
std::int64_t check_rows(const Batch& batch) {
  const Value& x = *batch.find("x");
  const std::span<const std::int64_t> values = x.values.as<std::int64_t>();
  const Tensor* const lengths = batch.lengths("x");
  std::size_t next = 0;
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    std::int64_t frames = 0;
    for (const BatchSpan& span : batch.spans(row)) {
      const std::int64_t file = span.origin.file.back() - '0';
      const std::int64_t first = 1000000 * file + 1000 * span.origin.record + span.origin.start;
      for (std::int64_t i = 0; i < span.length; ++i) {
        EXPECT_EQ(values[next + static_cast<std::size_t>(span.at + i)], first + i);
      }
      frames = span.at + span.length;
    }
    const std::int64_t known =
        lengths == nullptr ? x.values.shape[1] : lengths->as<std::int64_t>()[static_cast<std::size_t>(row)];
    EXPECT_EQ(known, frames);
    next += static_cast<std::size_t>(frames);
  }
  EXPECT_EQ(next, values.size());
  return batch.rows();
}

TEST_F(WindowBatches, ChunksWithContextArePaddedRows) {
  write(0, 3);  // 0, 7 and 14 frames
  EXPECT_EQ(texts(document(R"({"take": {"count": 2}}, {"chunk": {"size": 4}},
                              {"context": {"left": {"x": 1}, "right": {"x": 0}}},
                              {"batch": {"size": 4, "pad": [{"tensor": "x", "value": -1}]}})"),
                  "x"),
            std::vector<std::string>{"[[-1,1000,1001,1002,1003],[1003,1004,1005,1006,-1]]"});
}

TEST_F(WindowBatches, ContinuousWindowsJoinRecords) {
  write(0, 3);
  EXPECT_EQ(
      texts(document(R"({"continuous": {"min_window": 6, "max_window": 6}}, {"batch": {"size": 2, "pad": true}})"),
            "words"),
      (std::vector<std::string>{R"([["1000","1001","1002","1003","1004","1005"],)"
                                R"(["1006","2000","2001","2002","2003","2004"]])",
                                R"([["2005","2006","2007","2008","2009","2010"]])"}));
}

TEST_F(WindowBatches, TensorsThatAreNotCutComeWithTheFirstRecord) {
  write(0, 3);
  EXPECT_EQ(texts(document(R"({"continuous": {"keys": ["x"], "min_window": 6, "max_window": 6}},
                              {"batch": {"size": 4}})"),
                  "id"),
            std::vector<std::string>{"[1000,1000,2000]"});
}

TEST_F(WindowBatches, StepsBeforeTheWindowsSeeRecordsAndStepsAfterThemSeeRows) {
  write(0, 3);
  EXPECT_EQ(texts(document(R"({"cast": {"tensor": "x", "dtype": "float32"}}, {"chunk": {"keys": ["x"], "size": 5}},
                              {"cast": {"tensor": "x", "dtype": "int32"}}, {"batch": {"size": 3, "pad": true}})"),
                  "x"),
            (std::vector<std::string>{"[[1000,1001,1002,1003,1004],[1005,1006,0,0,0],[2000,2001,2002,2003,2004]]",
                                      "[[2005,2006,2007,2008,2009],[2010,2011,2012,2013,0]]"}));
}

TEST_F(WindowBatches, EveryShardHasTheShapeOfTheWholeBatch) {
  write(0, 12);
  const Json json = document(R"({"chunk": {"size": 5}}, {"frames": {"keys": ["x"], "max_seqs": 4}})");
  auto whole = load(json);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  std::vector<Loader> shards;
  for (std::int64_t index = 0; index < 2; ++index)
    shards.push_back(*load(json, {.shard_index = index, .shard_count = 2}));
  for (Batch& batch : whole->batches()) {
    for (Loader& shard : shards) {
      const auto part = shard.next();
      ASSERT_TRUE(part.ok() && *part);
      EXPECT_EQ((*part)->find("x")->values.shape[1], batch.find("x")->values.shape[1]);
    }
  }
}

TEST_F(WindowBatches, AnEmptyRowFillsUpTheLastBatch) {
  write(0, 2);
  auto loader = load(document(R"({"chunk": {"keys": ["x"], "size": 5}},
                                 {"batch": {"size": 3, "pad": true, "remainder": "pad"}})"));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
  EXPECT_EQ(testing::to_json(*(*batch)->find("x")).text(),
            "[[1000,1001,1002,1003,1004],[1005,1006,0,0,0],[0,0,0,0,0]]");
  EXPECT_EQ((*batch)->valid_rows(), 2);
  EXPECT_TRUE((*batch)->spans(2).empty());
}

TEST_F(WindowBatches, ACorruptRecordComesAfterTheBatchesBeforeIt) {
  write(0, 9);
  std::fstream file{folder_.file("part-0"), std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(-30, std::ios::end);
  file.put('#');
  file.close();
  const auto got = texts(document(R"({"shuffle": {"buffer": 1}}, {"chunk": {"keys": ["x"], "size": 30}},
                                     {"batch": {"size": 1, "pad": true}})"),
                         "id");
  ASSERT_EQ(got.size(), 8U) << got.back();
  EXPECT_EQ(got[6], "[7000]");
  EXPECT_THAT(got.back(), AllOf(HasSubstr("part-0"), HasSubstr("record 8"), HasSubstr("checksum")));
}

/// Documents with windows of all kinds.
class EveryWindow : public WindowBatches, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryWindow, HasTheFramesThatItsSpansName) {
  write(0, 300);
  write(1, 40, Compression::gzip);
  write(2, 0);
  write(3, 200, Compression::zlib);
  auto loader = load(document(GetParam(), R"(, "epochs": 2)"), {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::int64_t rows = 0;
  for (Batch& batch : loader->batches()) rows += check_rows(batch);
  ASSERT_TRUE(loader->status().ok()) << loader->status().error().text();
  EXPECT_GT(rows, 300);
}

TEST_P(EveryWindow, IsTheSameForAnyNumberOfThreadsAndAnyBudget) {
  write(0, 300);
  write(1, 40, Compression::gzip);
  const Json plan = document(GetParam());
  const Delivered one = testing::run(plan, {.threads = 1});
  ASSERT_EQ(one.error, "");
  ASSERT_GT(one.batches.size(), 3U);
  EXPECT_EQ(testing::run(plan, {.threads = 8}), one);
  EXPECT_EQ(testing::run(plan, {.threads = 3, .memory = std::int64_t{4} << 20, .prefetch = 1}), one);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, EveryWindow,
    ::testing::Values(
        R"({"chunk": {"size": 5, "step": 2}}, {"batch": {"size": 16}})",
        R"({"continuous": {"min_window": 3, "max_window": 40, "tail": "keep"}}, {"batch": {"size": 16}})",
        R"({"continuous": {"min_window": 64, "max_window": 64, "stride": 8}}, {"shuffle": {"buffer": 100}},
           {"batch": {"size": 16}})",
        R"({"shuffle": {"global": true}}, {"chunk": {"size": 4}}, {"shuffle": {"buffer": 50}}, {"batch": {"size": 16}})",
        R"({"filter": {"where": "id % 3000 != 0"}}, {"chunk": {"size": 8, "step": 8, "min_size": 3}},
           {"batch": {"size": 16, "remainder": "drop"}})"));

/// The same windows of an array [40, 12] and of its copy in which the numbers are in the other order of bytes.
TEST(WindowsOfArrays, AreTakenFromAnyLayout) {
  std::vector<std::int32_t> numbers(480), swapped(480);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::ranges::transform(numbers, swapped.begin(), [](std::int32_t number) {
    return static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(number)));
  });
  const auto rows =
      array_rows({{.name = "a", .dtype = DType::int32, .shape = {40, 12}, .data = numbers.data()},
                  {.name = "b", .dtype = DType::int32, .shape = {40, 12}, .data = swapped.data(), .swapped = true}},
                 nullptr);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  const Json document = testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [
    {"shuffle": {"buffer": 9}}, {"chunk": {"keys": ["a", "b"], "size": 5, "step": 3}},
    {"batch": {"size": 7, "pad": true}}]})");
  auto loader = load(document, {.threads = 2}, ".", {{"in", *rows}});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::int64_t windows = 0;
  for (Batch& batch : loader->batches()) {
    EXPECT_EQ(testing::to_json(*batch.find("a")).text(), testing::to_json(*batch.find("b")).text());
    const Tensor& a = batch.tensor("a");
    for (std::int64_t row = 0; row < batch.rows(); ++row, ++windows) {
      const BatchSpan span = batch.spans(row)[0];
      EXPECT_EQ(a.as<std::int32_t>()[static_cast<std::size_t>(row * a.shape[1])],
                12 * span.origin.record + span.origin.start);
    }
  }
  ASSERT_TRUE(loader->status().ok()) << loader->status().error().text();
  EXPECT_EQ(windows, 40 * 4);
}

}  // namespace
}  // namespace forebay
