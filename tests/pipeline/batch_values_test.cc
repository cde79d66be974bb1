// SPDX-License-Identifier: Apache-2.0
// Tests of batches whose rows are not plain arrays of numbers: the values equal those of TensorFlow's parse_example.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Splits = std::vector<Ints>;

/// The first batch of a file of these records, or why there is none.
Result<Batch> batch_of(const Folder& folder, const std::vector<ExampleMap>& records, const std::string& feature,
                       const std::string& batch) {
  std::vector<std::string> messages;
  for (const ExampleMap& record : records) messages.push_back(encode_example(record));
  const std::string path = folder.file("x.tfrecord");
  FOREBAY_DO(write_records(path, messages));
  FOREBAY_TRY(Loader pipeline, load(testing::parse(R"({"source": {"tfrecord": {"files": [")" + path + R"("]}},
    "decode": {"example": {"features": {"v": )" + feature +
                                                   R"(}}}, "steps": [{"batch": )" + batch + "}]}")));
  FOREBAY_TRY(std::optional<Batch> first, pipeline.next());
  if (!first) return Error{Code::internal, Detail::none, "there is no batch"};
  return *std::move(first);
}

/// The row splits of one batch of all records, outermost first, whose partitions are not validated.
Result<Splits> splits_of(const std::string& partitions, const std::vector<ExampleMap>& records,
                         const std::string& dtype = "int32") {
  const Folder folder;
  const std::string feature = R"({"kind": "ragged", "dtype": "int64", "validate": false, "row_splits_dtype": ")" +
                              dtype + R"(", "partitions": )" + partitions + "}";
  FOREBAY_TRY(const Batch batch, batch_of(folder, records, feature, R"({"size": 10})"));
  Splits out;
  for (const Tensor& level : batch.find("v")->row_splits) {
    if (level.dtype == DType::int64) {
      out.emplace_back(level.as<std::int64_t>().begin(), level.as<std::int64_t>().end());
    } else {
      out.emplace_back(level.as<std::int32_t>().begin(), level.as<std::int32_t>().end());
    }
  }
  return out;
}

ExampleMap record(Ints values, Ints partition) { return {{"v", std::move(values)}, {"p", std::move(partition)}}; }
ExampleMap record(Ints values, Ints inner, Ints outer) {
  return {{"v", std::move(values)}, {"p", std::move(inner)}, {"q", std::move(outer)}};
}

struct Joined {
  std::string partitions;
  std::vector<ExampleMap> records;
  Splits splits;
};

/// As TensorFlow joins them: lengths and row ids go on adding up, whatever there is to split; starts are those of the
/// records, with one end for all; limits and splits count from the values before the record.
TEST(RaggedBatch, PartitionsThatDoNotFitAreJoinedAsIfTheyWereOne) {
  const std::vector<Joined> cases{
      {R"([["row_lengths", "p"]])", {record({1}, {3}), record({4}, {1})}, {{0, 1, 2}, {0, 3, 4}}},
      {R"([["row_lengths", "p"]])", {record({1, 2, 3}, {1}), record({4}, {1})}, {{0, 1, 2}, {0, 1, 2}}},
      {R"([["row_starts", "p"]])", {record({1, 2}, {0, 1}), {{"v", Ints{3, 4}}}}, {{0, 2, 2}, {0, 1, 4}}},
      {R"([["row_starts", "p"]])", {{{"v", Ints{1, 2}}}, record({3, 4}, {0})}, {{0, 0, 1}, {2, 4}}},
      {R"([["row_limits", "p"]])", {record({1, 2, 3}, {1}), record({4}, {1})}, {{0, 1, 2}, {0, 1, 4}}},
      {R"([["row_splits", "p"]])", {record({1, 2, 3}, {2, 3}), record({4}, {0, 1})}, {{0, 1, 2}, {0, 3, 4}}},
      {R"([["value_rowids", "p"]])", {record({1, 2}, {0}), record({3}, {0})}, {{0, 1, 2}, {0, 1, 2}}},
      {R"([["value_rowids", "p"]])",
       {record({1, 2}, {3, 1}), record({3, 4}, {-1, 1})},
       {{0, 4, 6}, {0, 0, 1, 1, 3, 3, 4}}},
      {R"([["value_rowids", "p"]])", {record({1}, {1 << 30, 0})}, {{0, (1 << 30) + 1}, {0, 1}}},
  };
  for (const Joined& one : cases) {
    for (const char* dtype : {"int32", "int64"}) {
      const auto splits = splits_of(one.partitions, one.records, dtype);
      ASSERT_TRUE(splits.ok()) << splits.error().text();
      EXPECT_EQ(*splits, one.splits) << one.partitions;
    }
  }
}

TEST(RaggedBatch, LevelsAboveOneThatDoesNotFitSplitItsRows) {
  const std::vector<Joined> cases{
      {R"([["row_starts", "q"], ["row_lengths", "p"]])",
       {record({1}, {3, 1}, {1}), record({4}, {1}, {0})},
       {{0, 1, 2}, {1, 2, 3}, {0, 3, 4, 5}}},
      {R"([["uniform_row_length", 2], ["row_lengths", "p"]])",
       {record({1}, {3, 1}), record({4}, {1, 2})},
       {{0, 1, 2}, {0, 2, 4}, {0, 3, 4, 5, 7}}},
      {R"([["row_lengths", "q"], ["value_rowids", "p"]])",
       {record({1}, {3, 1}, {1}), record({4}, {1, 0}, {2})},
       {{0, 1, 2}, {0, 1, 3}, {0, 0, 1, 1, 2, 3}}},
      {R"([["row_starts", "q"], ["value_rowids", "p"]])",
       {record({1}, {1}, {1}), record({4}, {2, 0}, {2})},
       {{0, 1, 2}, {1, 4, 3}, {0, 0, 1, 2}}},
  };
  for (const Joined& one : cases) {
    const auto splits = splits_of(one.partitions, one.records);
    ASSERT_TRUE(splits.ok()) << splits.error().text();
    EXPECT_EQ(*splits, one.splits) << one.partitions;
  }
}

TEST(RaggedBatch, RowIdsBeforeTheBatchAreRefused) {
  const auto splits = splits_of(R"([["value_rowids", "p"]])", {record({1, 2}, {0, -1})});
  ASSERT_FALSE(splits.ok());
  EXPECT_THAT(splits.error().text(), HasSubstr("feature 'v': row id -1 is before the first row of the batch"));
}

TEST(ComplexBatch, BothPartsAreReadInTheirByteOrderAndPaddingIsZero) {
  const Folder folder;
  const auto bytes = [](std::initializer_list<float> parts) {
    std::string out;
    for (const float part : parts) {
      const auto* const at = reinterpret_cast<const char*>(&part);
      out += std::string{std::reverse_iterator{at + sizeof(float)}, std::reverse_iterator{at}};
    }
    return std::vector<std::string>{out};
  };
  const auto batch = batch_of(folder, {{{"v", bytes({1, 2, 3, 4})}}, {{"v", bytes({5, 6})}}},
                              R"({"kind": "raw", "dtype": "complex64", "shape": [-1], "endian": "big"})",
                              R"({"size": 2, "pad": true})");
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  const Tensor& values = batch->tensor("v");
  EXPECT_EQ(values.dtype, DType::complex64);
  EXPECT_EQ(values.shape, (Shape{2, 2}));
  const auto* const parts = reinterpret_cast<const float*>(values.data);
  EXPECT_EQ((std::vector<float>{parts, parts + 8}), (std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0}));
}

}  // namespace
}  // namespace forebay
