// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"
#include "tests/support/counted_pins.h"

namespace forebay {
namespace {

using testing::Delivered;
using testing::document;
using testing::Folder;
using testing::run;
using testing::write_examples;

/// Seven files of very different lengths, one of them empty, two compressed.
void write_seven(const Folder& folder) {
  testing::write_parts(folder, {300, 1, 0, 977, 45, 512, 130}, {.gzip = 3, .zlib = 5});
}

class SameStream : public ::testing::TestWithParam<std::string> {};

TEST_P(SameStream, ForAnyThreadCountPrefetchAndBudget) {
  const Folder folder;
  write_seven(folder);
  const Json json = document(folder.file("part-*"), GetParam(), R"(, "epochs": 2, "seed": 5)");
  const Delivered expected = run(json, {.threads = 1});
  EXPECT_EQ(expected.error, "");
  EXPECT_GT(expected.batches.size(), 30U);
  for (const std::int64_t threads : {2, 3, 8}) {
    EXPECT_EQ(run(json, {.threads = threads}), expected) << threads << " threads";
  }
  EXPECT_EQ(run(json, {.threads = 3, .prefetch = 1, .requests = 1}), expected);
  EXPECT_EQ(run(json, {.threads = 2, .memory = 4 << 20, .prefetch = 50}), expected);
  const auto pins = std::make_shared<tests::CountedPins>();
  EXPECT_EQ(run(json, {.threads = 3, .pin_memory = pins}), expected);
  EXPECT_EQ(run(json, {.threads = 2, .memory = 4 << 20, .prefetch = 50, .pin_memory = pins}), expected);
  EXPECT_GT(pins->counts().made, 0);
  EXPECT_EQ(pins->counts().live, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Orders, SameStream,
    ::testing::Values(
        R"({"batch": {"size": 64}})", R"({"shuffle": {"buffer": 100}}, {"batch": {"size": 64, "remainder": "drop"}})",
        R"({"shuffle": {"buffer": 7}}, {"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 333}},
                                              {"batch": {"size": 61, "pad": true}})",
        R"({"interleave": {"cycle": 4}}, {"skip": {"count": 11}}, {"take": {"count": 1900}}, {"batch": {"size": 100, "remainder": "pad"}})",
        R"({"repeat": {"count": 2}}, {"shuffle": {"buffer": 5000}}, {"batch": {"size": 90}})"));

TEST(Epochs, StraddlingBatchesMixTwoPassesAndHardOnesDoNot) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 15);
  const auto rows = [&](const std::string& boundary) {
    std::vector<std::int64_t> out;
    auto pipeline = load(document(folder.file("a"), R"({"batch": {"size": 4}})",
                                  R"(, "epochs": 2, "epoch_boundary": ")" + boundary + "\""));
    while (true) {
      auto batch = pipeline->next();
      if (!batch.ok() || !*batch) return out;
      out.push_back((*batch)->rows());
    }
  };
  EXPECT_EQ(rows("straddle"), (std::vector<std::int64_t>{4, 4, 4, 4, 4, 4, 4, 2}));
  EXPECT_EQ(rows("hard"), (std::vector<std::int64_t>{4, 4, 4, 3, 4, 4, 4, 3}));
}

TEST(Epochs, ZeroIsAnEmptyRun) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 15);
  EXPECT_EQ(run(document(folder.file("a"), R"({"batch": {"size": 4}})", R"(, "epochs": 0)")), Delivered{});
}

TEST(Epochs, AnEndlessRunOverEmptyFilesEnds) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 0);
  EXPECT_EQ(run(document(folder.file("a"), R"({"batch": {"size": 4}})", R"(, "epochs": null)")), Delivered{});
}

TEST(Remainder, RowsThatNoRecordFillsAreEmptyAlsoWhereRowsArePaddedBeyondTheirShape) {
  const Folder folder;
  write_examples(folder.file("a"), 1, 1);
  auto pipeline = load(document(
      folder.file("a"), R"({"batch": {"size": 3, "remainder": "pad", "pad": [{"tensor": "x", "shape": [6]}]}})"));
  auto batch = pipeline->next();
  ASSERT_TRUE(batch.ok() && *batch);
  const auto x = (*batch)->tensor("x").as<float>();
  std::vector<float> expected(18);
  expected[0] = 1, expected[1] = 1.25F, expected[2] = -1, expected[3] = 0.5F;
  EXPECT_EQ(std::vector<float>(x.begin(), x.end()), expected);
  EXPECT_EQ((*batch)->valid_rows(), 1);
}

TEST(Origins, NameFileRecordAndByteOfEveryRow) {
  const Folder folder;
  const std::string path = folder.file("a");
  ASSERT_TRUE(write_records(path, {testing::example_of(0), testing::example_of(1)}).ok());
  auto pipeline = load(document(path, R"({"batch": {"size": 2}})"));
  auto batch = pipeline->next();
  ASSERT_TRUE(batch.ok() && *batch);
  const auto second = static_cast<std::int64_t>(testing::example_of(0).size()) + 16;
  EXPECT_EQ((*batch)->key(0), path + ":0");
  EXPECT_EQ((*batch)->key(1), path + ":" + std::to_string(second));
  EXPECT_EQ((*batch)->origin(1).record, 1);
}

}  // namespace
}  // namespace forebay
