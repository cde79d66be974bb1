// SPDX-License-Identifier: Apache-2.0
// A batch that is larger than the memory budget is an error that says how much it needs, after the batches before it.
#include <chrono>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using ::testing::AllOf;
using testing::Folder;
using ::testing::HasSubstr;

Json reading(const std::string& path, const std::string& feature, const std::string& batch) {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                        R"("]}}, "decode": {"example": {"features": {"v": )" + feature +
                        R"(}}}, "steps": [{"batch": )" + batch + "}]}");
}

/// The delivered batches, and the error after them.
std::pair<int, Error> until_error(const Json& document, std::int64_t memory, std::int64_t threads,
                                  int max = std::numeric_limits<int>::max()) {
  auto pipeline = load(document, {.threads = threads, .memory = memory});
  if (!pipeline.ok()) return {-1, pipeline.error()};
  for (int batches = 0;; ++batches) {
    const auto batch = pipeline->next();
    if (!batch.ok()) return {batches, batch.error()};
    if (!*batch || batches == max) return {batches, Error{Code::internal, "no error"}};
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

TEST(MemoryBudget, OfABatchThatHasTensorsOfNoFixedSizeItsRecordsTellTheRest) {
  const Folder folder;
  const Json json = testing::document(testing::write_examples(folder.file("a"), 0, 64), R"({"batch": {"size": 64}})");
  std::int64_t bytes = 64 * 8 + 64 * 16;
  for (std::int64_t id = 0; id < 64; ++id) bytes += 2 * std::ssize(testing::example_of(id));
  const auto [batches, error] = until_error(json, 1000, 1);
  EXPECT_EQ(batches, 0);
  EXPECT_THAT(error.text(), HasSubstr("batch 0 needs about " + std::to_string(bytes + 128) +
                                      " bytes for its 64 rows (1664 of them for tensors of fixed size), more than"));
  EXPECT_EQ(until_error(json, bytes + 128, 1).second.text(), "no error");
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

TEST(MemoryBudget, RowsOfNoFixedSizeThatNoRecordFillsCountToo) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), {1});
  for (const char* const kind : {"var_len", "ragged"}) {
    const Json json = reading(path, R"({"dtype": "float32", "kind": ")" + std::string{kind} + R"("})",
                              R"({"size": 100000000, "remainder": "pad", "pad": true})");
    const auto [batches, error] = until_error(json, 64 << 20, 2);
    EXPECT_EQ(batches, 0);
    EXPECT_EQ(error.detail(), Detail::resource_exhausted) << error.text();
    EXPECT_THAT(error.text(), HasSubstr("bytes for its 100000000 rows"));
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
    EXPECT_THAT(error.text(), HasSubstr("batch 2 needs 6800504 bytes with an array of shape [16,100000]"));
  }
}

TEST(MemoryBudget, ARaggedBatchThatDoesNotFitIsAnError) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), {400'000, 400'000, 400'000, 400'000});
  const Json json = reading(path, R"({"kind": "ragged", "dtype": "float32"})", R"({"size": 4})");
  const auto [batches, error] = until_error(json, 4 << 20, 2);
  EXPECT_EQ(batches, 0) << error.text();
  EXPECT_EQ(error.detail(), Detail::resource_exhausted);
  EXPECT_THAT(error.text(), HasSubstr("batch 0 needs 6400064 bytes for what its 4 rows decode to, more than the memory "
                                      "budget of 4194304 bytes"));
}

TEST(MemoryBudget, WhatRowsDecodeToCountsAndIsKeptForTheNextBatchWhereThereIsRoom) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), std::vector<std::size_t>(64, 10'000));  // 2.56 MB
  const Json json = reading(path, R"({"kind": "ragged", "dtype": "float32"})", R"({"size": 32})");
  for (const std::int64_t memory : {64 << 20, 3 << 20}) {
    auto pipeline = load(json, {.threads = 1, .memory = memory});
    ASSERT_TRUE(pipeline.ok());
    std::int64_t rows = 0;
    for (auto batch = pipeline->next(); batch.ok() && *batch; batch = pipeline->next()) rows += (*batch)->rows();
    EXPECT_EQ(rows, 64);
    const std::int64_t used = pipeline->stats().memory_used;  // no batch is held, and the file is mapped
    EXPECT_EQ(used >= 32 * 40'000, memory > 3 << 20) << used;
  }
}

TEST(MemoryBudget, ThePlacesOfASparseBatchCountToo) {
  const Folder folder;
  const std::string path = write_floats(folder.file("a"), std::vector<std::size_t>(4, 100'000));
  const Json json = reading(path, R"({"kind": "var_len", "dtype": "float32", "as": "sparse"})", R"({"size": 4})");
  const auto [batches, error] = until_error(json, 4 << 20, 1);  // 1.6 MB of values, 6.4 MB of places
  EXPECT_EQ(batches, 0);
  EXPECT_EQ(error.detail(), Detail::resource_exhausted);
  EXPECT_THAT(error.text(), HasSubstr("batch 0 needs 9600096 bytes with an array of shape [400000], more than"));
  EXPECT_EQ(until_error(json, 16 << 20, 1).second.text(), "no error");
}

/// The error of a run over 1,200 records of 10,000 bytes each, gzip, within 4 MiB.
std::string over_compressed(const std::string& steps) {
  const Folder folder;
  std::vector<std::string> messages(1200, std::string(10'000, 'x'));
  EXPECT_TRUE(write_records(folder.file("a.gz"), messages, Compression::gzip).ok());
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a.gz") +
                                   R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" + steps + "]}");
  const auto [batches, error] = until_error(json, 4 << 20, 2);
  EXPECT_EQ(batches, error.message() == "no error" ? 1200 / 10 : 0);
  return error.message();
}

TEST(MemoryBudget, DecompressedRecordsThatABatchOrAShuffleWaitsForMayNotBeMore) {
  constexpr auto held = "the records of compressed files that wait for their turn hold ";
  constexpr auto advice = "raise `memory`, or lower the buffers of shuffles or the batch size";
  EXPECT_THAT(over_compressed(R"({"batch": {"size": 1200}})"), AllOf(HasSubstr(held), HasSubstr(advice)));
  EXPECT_THAT(over_compressed(R"({"shuffle": {"buffer": 1000}}, {"batch": {"size": 10}})"), HasSubstr(held));
  EXPECT_EQ(over_compressed(R"({"shuffle": {"buffer": 100}}, {"batch": {"size": 10}})"), "no error");
}

TEST(MemoryBudget, TheRecordsOfABatchCountUntilItIsMadeWhereTheyAreInMemory) {
  const Folder folder;
  const std::string compressed = folder.file("a.gz"), plain = folder.file("a");
  const std::vector<std::string> messages(8, encode_example({{"v", std::vector<float>(65536, 1.0F)}}));
  ASSERT_TRUE(write_records(compressed, messages, Compression::gzip).ok());
  ASSERT_TRUE(write_records(plain, messages).ok());
  const auto error_of = [](const std::string& path) {
    return until_error(reading(path, R"({"dtype": "float32", "shape": [65536]})", R"({"size": 8})"), 3 << 20, 2)
        .second.message();
  };
  EXPECT_EQ(error_of(plain), "no error") << "2 MiB";
  EXPECT_THAT(error_of(compressed),
              HasSubstr("batch 0 needs " + std::to_string(8 * 262'144 + 64 + 8 * messages[0].size()) +
                        " bytes for its 8 rows"));
}

TEST(MemoryBudget, TheRowsOfABatchCountBeforeThereAreTensors) {
  const Folder folder;
  ASSERT_TRUE(write_records(folder.file("a"), std::vector<std::string>(100'000)).ok());
  const auto run = [&](const std::string& size, std::int64_t memory) {
    const Json json =
        testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a") +
                       R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [{"batch": {"size": )" + size + "}}]}");
    return until_error(json, memory, 1);
  };
  EXPECT_EQ(run("100000000", 2 << 20).second.message(),
            "a batch with room for 65536 rows: 1572864 bytes are more than half of the memory budget of 2097152 bytes; "
            "raise `memory`, or lower the size that is asked for");
  const auto [batches, error] = run("100000000", 64 << 20);
  EXPECT_EQ(error.message(), "no error") << "the size is the most, and the file has fewer";
  EXPECT_EQ(batches, 1);
  auto pipeline =
      load(testing::document(testing::write_examples(folder.file("b"), 0, 40'000), R"({"batch": {"size": 20000}})"),
           {.threads = 1, .memory = 64 << 20});
  ASSERT_TRUE(pipeline.ok());
  ASSERT_TRUE(pipeline->next().ok());
  EXPECT_GE(pipeline->stats().memory_used, 20'000 * 24);
}

TEST(MemoryBudget, BatchesOfTextInTheMakingCountBeforeTheyAreMade) {
  const Folder folder;
  std::vector<std::string> messages;
  for (int i = 0; i < 80; ++i)
    messages.push_back(encode_example({{"v", std::vector<std::string>{std::string(1 << 20, 'x')}}}));
  ASSERT_TRUE(write_records(folder.file("a"), messages).ok());
  const Json json = reading(folder.file("a"), R"({"dtype": "string", "shape": []})", R"({"size": 4})");
  constexpr std::int64_t memory = 32 << 20;  // a batch takes a quarter of it while it is made
  for (const std::int64_t prefetch : {0, 50}) {
    auto pipeline = load(json, {.threads = 2, .memory = memory, .prefetch = prefetch});
    ASSERT_TRUE(pipeline.ok());
    std::int64_t max = 0;
    int batches = 0;
    for (auto batch = pipeline->next(); batch.ok() && *batch; batch = pipeline->next(), ++batches) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});  // for what is made ahead
      max = std::max(max, pipeline->stats().memory_used);
    }
    EXPECT_EQ(batches, 20);
    EXPECT_LE(max, memory + memory / 4) << prefetch;
  }
}

TEST(MemoryBudget, WhatADecoderNeedsForALongListCountsAndIsKeptWhereThereIsRoomForItTwice) {
  const Folder folder;
  const std::vector<std::int64_t> list(2'000'000, 7);  // 16 MB before it is cast
  ASSERT_TRUE(write_records(folder.file("a"), {encode_example({{"v", list}})}).ok());
  for (const std::int64_t memory : {64 << 20, 24 << 20}) {
    auto pipeline = load(reading(folder.file("a"), R"({"kind": "var_len", "dtype": "uint8"})", R"({"size": 1})"),
                         {.threads = 1, .memory = memory});
    ASSERT_TRUE(pipeline.ok());
    ASSERT_TRUE(pipeline->next().ok());
    EXPECT_EQ(pipeline->stats().memory_used >= 16'000'000, memory == 64 << 20) << pipeline->stats().memory_used;
  }
}

/// The error of a global shuffle over a gzip file with one record of 6 MiB.
std::string over_large_record(std::int64_t memory, bool indexed) {
  const Folder folder;
  const std::string path = folder.file("a.gz");
  EXPECT_TRUE(write_records(path, {std::string(6 << 20, 'x')}, Compression::gzip).ok());
  if (indexed) {
    EXPECT_TRUE(index_files({path}).ok());
  }
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + path +
                                   R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" +
                                   R"({"shuffle": {"global": true}}, {"batch": {"size": 1}}]})");
  return until_error(json, memory, 1).second.message();
}

TEST(MemoryBudget, ARecordThatIsTooLargeIsRefusedWhereItIsReachedByIndexToo) {
  EXPECT_THAT(over_large_record(4 << 20, false), HasSubstr("more than the memory budget of 4194304 bytes"));
  EXPECT_EQ(
      over_large_record(4 << 20, true),
      "1 records that are decompressed together need 6291472 bytes, this one 6291456 of them, more than the memory "
      "budget of 4194304 bytes; raise `memory`");
  EXPECT_EQ(over_large_record(64 << 20, true), "no error");
}

TEST(MemoryBudget, WhatAShuffleBufferHoldsCountsAndMayTakeHalfOfIt) {
  const Folder folder;
  ASSERT_TRUE(write_records(folder.file("a"), std::vector<std::string>(100'000)).ok());
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a") +
                                   R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" +
                                   R"({"shuffle": {"buffer": 1000000}}, {"batch": {"size": 100}}]})");
  const auto [batches, error] = until_error(json, 1 << 20, 1);  // 1.6 MB
  EXPECT_EQ(batches, 0);
  EXPECT_EQ(error.message(),
            "a shuffle buffer with room for 65536 records: 1048576 bytes are more than half of the memory budget of "
            "1048576 bytes; raise `memory`, or lower the size that is asked for");
  auto pipeline = load(json, {.threads = 1, .memory = 8 << 20});
  ASSERT_TRUE(pipeline.ok());
  ASSERT_TRUE(pipeline->next().ok());
  EXPECT_GE(pipeline->stats().memory_used, 100'000 * 16);
}

/// What is still in use after six passes over a compressed file with 3 MiB of floats, of which the first so many
/// batches, a quarter of a MiB each, were held until the end.
std::int64_t used_behind(std::int64_t memory, std::size_t held) {
  const Folder folder;
  std::vector<std::string> messages;
  for (int i = 0; i < 768; ++i) messages.push_back(encode_example({{"v", std::vector<float>(1024, 1.0F)}}));
  EXPECT_TRUE(write_records(folder.file("a.gz"), messages, Compression::gzip).ok());
  const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a.gz") + R"("]}},
    "decode": {"example": {"features": {"v": {"dtype": "float32", "shape": [1024]}}}},
    "steps": [{"batch": {"size": 64}}], "epochs": 6})");
  auto pipeline = load(json, {.threads = 1, .memory = memory});
  std::vector<Batch> batches;
  std::int64_t rows = 0;
  while (true) {
    auto batch = pipeline->next();
    EXPECT_TRUE(batch.ok());
    if (!batch.ok() || !*batch) break;
    rows += (*batch)->rows();
    if (batches.size() < held) batches.push_back(**batch);
  }
  EXPECT_EQ(rows, 6 * 768);
  batches.clear();
  return pipeline->stats().memory_used;
}

TEST(MemoryBudget, ContentOfCompressedFilesIsKeptInAQuarterOfItUntilItIsNeeded) {
  constexpr std::int64_t content = std::int64_t{3} << 20;
  EXPECT_GE(used_behind(std::int64_t{16} << 20, 0), content);
  EXPECT_LT(used_behind(std::int64_t{8} << 20, 0), content);
  EXPECT_LT(used_behind(std::int64_t{16} << 20, 48), content);
}

// Each batch is a third of the budget: with kept content, one that is held and one that is ready, there is room for no
// other, but an eighth of the budget is free.
TEST(MemoryBudget, KeptContentMakesWayForTheNextBatch) {
  constexpr std::int64_t rows = 1279;  // 5 MiB with what goes with them
  const Folder folder;
  std::vector<std::string> messages;
  for (int i = 0; i < 768; ++i) messages.push_back(encode_example({{"v", std::vector<float>(1024, 1.0F)}}));
  ASSERT_TRUE(write_records(folder.file("a.gz"), messages, Compression::gzip).ok());
  Json json = reading(folder.file("a.gz"), R"({"dtype": "float32", "shape": [1024]})",
                      R"({"size": )" + std::to_string(rows) + "}");
  json.set("epochs", Json{});
  constexpr std::int64_t batch = rows * 4096;
  auto pipeline = load(json, {.threads = 1, .memory = std::int64_t{16} << 20});
  ASSERT_TRUE(pipeline.ok());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  std::optional<Batch> held;
  while (pipeline->stats().memory_used < 3 * batch && std::chrono::steady_clock::now() < deadline) {
    held.reset();
    auto next = pipeline->next();
    ASSERT_TRUE(next.ok() && *next);
    held = *std::move(next);
    next = std::optional<Batch>{};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  EXPECT_GE(pipeline->stats().memory_used, 3 * batch);  // one is held, two are ready
}

TEST(MemoryBudget, IndexesThatDoNotFitIntoHalfOfItSayHowMuchTheyNeed) {
  const Folder folder;
  for (const char* const name : {"a", "b", "c"})
    ASSERT_TRUE(write_records(folder.file(name), std::vector<std::string>(40'000, "record")).ok());
  const auto reading_all = [&](const std::string& steps) {
    return testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("?") +
                          R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" + steps +
                          R"({"batch": {"size": 100}}]})");
  };
  const int enough = tests::sanitized ? 20 : 2000;  // there are 1,200 batches
  const std::string global = R"({"shuffle": {"global": true}}, )";
  for (const std::int64_t threads : {1, 3}) {  // three of 480,000 bytes and some
    const auto [batches, error] = until_error(reading_all(global), 2 << 20, threads);
    EXPECT_EQ(batches, 0);
    EXPECT_EQ(error.detail(), Detail::resource_exhausted);
    EXPECT_THAT(error.text(),
                HasSubstr("this run needs 2880888 bytes of `memory` and has 2097152: the record indexes of "
                          "its files take 1440444 bytes, 12 a record"));
    EXPECT_EQ(until_error(reading_all(global), 2'880'888, threads, enough).second.text(), "no error");
    EXPECT_EQ(until_error(reading_all(global), 4 << 20, threads, enough).second.text(), "no error");
    EXPECT_EQ(until_error(reading_all(""), 2 << 20, threads, enough).second.text(), "no error") << "no index is needed";
  }
}

TEST(MemoryBudget, IndexesAndWhatTheyReachAreCounted) {
  const Folder folder;
  ASSERT_TRUE(write_records(folder.file("plain"), std::vector<std::string>(10'000, std::string(100, 'x'))).ok());
  ASSERT_TRUE(write_records(folder.file("compressed"), std::vector<std::string>(10'000, std::string(100, 'x')),
                            Compression::gzip)
                  .ok());
  for (const char* const name : {"plain", "compressed"}) {
    auto pipeline = load(testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file(name) +
                                        R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" +
                                        R"({"shuffle": {"global": true}}, {"batch": {"size": 100}}]})"),
                         {.threads = 1, .memory = 64 << 20});
    ASSERT_TRUE(pipeline.ok());
    auto batch = pipeline->next();
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    EXPECT_GE(pipeline->stats().memory_used, 120'000);
    EXPECT_GT(pipeline->stats().bytes_read, 0);
    while (batch.ok() && *batch) batch = pipeline->next();
    EXPECT_EQ(pipeline->stats().records, 10'000);
    EXPECT_GT(pipeline->stats().bytes_read, 1'000);
    if (std::string{name} == "plain") {
      EXPECT_EQ(pipeline->stats().bytes_read, 1'000'000);
    }
  }
}

}  // namespace
}  // namespace forebay
