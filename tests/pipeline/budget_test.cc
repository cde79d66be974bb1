// SPDX-License-Identifier: Apache-2.0
// A batch that is larger than the memory budget is an error that says how much it needs, behind the batches before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/stream_files.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;

Json reading(const std::string& path, const std::string& feature, const std::string& batch) {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                        R"("]}}, "decode": {"example": {"features": {"v": )" + feature +
                        R"(}}}, "steps": [{"batch": )" + batch + "}]}");
}

/// Batches that came, and the error behind them.
std::pair<int, Error> until_error(const Json& document, std::int64_t memory, std::int64_t threads) {
  auto pipeline = open(document, {.threads = threads, .memory = memory});
  if (!pipeline.ok()) return {-1, pipeline.error()};
  for (int batches = 0;; ++batches) {
    const auto batch = pipeline->next();
    if (!batch.ok()) return {batches, batch.error()};
    if (!*batch) return {batches, Error{Code::internal, "no error"}};
  }
}

/// `rows` rows of so many floats each.
std::string write_floats(const std::string& path, const std::vector<std::size_t>& sizes) {
  std::vector<std::string> messages;
  for (const std::size_t size : sizes) messages.push_back(encode_example({{"v", std::vector<float>(size, 1.0F)}}));
  EXPECT_TRUE(write_records(path, messages).ok());
  return path;
}

TEST(MemoryBudget, ABatchOfFixedTensorsThatDoesNotFitSaysHowMuchItNeeds) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), {65536, 65536, 65536, 65536});
  const Json json = reading(path, R"({"dtype": "float32", "shape": [65536]})", R"({"size": 4})");
  for (const std::int64_t threads : {1, 3}) {
    const auto [batches, error] = until_error(json, 1 << 20, threads);
    EXPECT_EQ(batches, 0);
    EXPECT_EQ(error.detail(), Detail::resource_exhausted);
    EXPECT_THAT(error.text(), HasSubstr("batch 0 needs 1048640 bytes for its 4 rows, more than the memory budget of "
                                        "1048576 bytes; raise `memory` or make batches smaller"));
    EXPECT_EQ(until_error(json, 2 << 20, threads).second.text(), "no error");
  }
}

TEST(MemoryBudget, RowsThatNoRecordFillsCountToo) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), {1});
  for (const char* const size : {"1000000000", "4611686018427387904"}) {
    const Json json = reading(path, R"({"dtype": "float32", "shape": [1]})",
                              std::string{R"({"size": )"} + size + R"(, "remainder": "pad"})");
    const auto [batches, error] = until_error(json, 64 << 20, 2);
    EXPECT_LE(batches, 0);
    EXPECT_THAT(error.detail(), ::testing::AnyOf(Detail::resource_exhausted, Detail::invalid_argument)) << error.text();
  }
}

TEST(MemoryBudget, OneLongOutlierThatPadsItsBatchIsAnErrorBehindTheBatchesBeforeIt) {
  const Folder folder;
  std::vector<std::size_t> sizes(64, 2);
  sizes[40] = 100'000;
  const std::string path = write_floats(folder.file("a"), sizes);
  const Json json = reading(path, R"({"kind": "var_len", "dtype": "float32"})",
                            R"({"size": 16, "pad": [{"tensor": "v", "shape": [-1]}]})");
  for (const std::int64_t threads : {1, 3}) {
    const auto [batches, error] = until_error(json, 4 << 20, threads);
    EXPECT_EQ(batches, 2) << error.text();
    EXPECT_EQ(error.detail(), Detail::resource_exhausted);
    EXPECT_THAT(error.text(), HasSubstr("feature 'v'"));
    EXPECT_THAT(error.text(), HasSubstr("batch 2 needs 6400000 bytes with an array of shape [16,100000]"));
  }
}

TEST(MemoryBudget, ARaggedBatchThatDoesNotFitIsAnError) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), {400'000, 400'000, 400'000, 400'000});
  const Json json = reading(path, R"({"kind": "ragged", "dtype": "float32"})", R"({"size": 4})");
  const auto [batches, error] = until_error(json, 4 << 20, 2);
  EXPECT_EQ(batches, 0) << error.text();
  EXPECT_EQ(error.detail(), Detail::resource_exhausted);
  EXPECT_THAT(error.text(), HasSubstr("batch 0 needs 6400000 bytes"));
}

}  // namespace
}  // namespace forebay
