// SPDX-License-Identifier: Apache-2.0
// Files that are larger than the part that may stay mapped: evicted records are read again by their tickets.
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;

constexpr std::int64_t small = std::int64_t{2} << 20;   // half of it may be mapped
constexpr std::int64_t large = std::int64_t{64} << 20;  // all of the files may
constexpr int records = 6'000;                          // of three files

std::string record_of(int id) {
  return std::to_string(id) + std::string(1000 + static_cast<std::size_t>(id % 97), 'x');
}

/// 6 MB in three files, shuffled.
class Unmapped : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (int part = 0; part < 3; ++part) {
      std::vector<std::string> messages;
      for (int id = part; id < records; id += 3) messages.push_back(record_of(id));
      ASSERT_TRUE(write_records(file(part), messages, Compression::none).ok());
    }
  }
  [[nodiscard]] std::string file(int part) const { return folder_.file("part-" + std::to_string(part)); }
  /// Does something to the files when the first batch is there.
  [[nodiscard]] testing::Delivered run(
      std::int64_t memory, std::int64_t threads, const std::function<void()>& meanwhile = [] {}) const {
    const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("part-?") +
                                     R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" + GetParam() +
                                     R"(, {"batch": {"size": 64}}], "seed": 3})");
    testing::Delivered out;
    auto pipeline = load(json, {.threads = threads, .memory = memory});
    if (!pipeline.ok()) return {{}, pipeline.error().text()};
    while (true) {
      auto batch = pipeline->next();
      if (!batch.ok()) out.error = batch.error().text();
      if (!batch.ok() || !*batch) return out;
      if (out.batches.empty()) meanwhile();
      out.batches.push_back(testing::text_of((*batch)->tensor("v")));
    }
  }

  Folder folder_;
};

TEST_P(Unmapped, RecordsAreTheSameForAnyBudgetAndThreadCount) {
  const testing::Delivered expected = run(large, 1);
  EXPECT_EQ(expected.error, "");
  EXPECT_EQ(expected.batches.size(), (records + 63) / 64);
  for (const std::int64_t threads : {1, 2, 5}) EXPECT_TRUE(run(small, threads) == expected) << threads;
}

// A shuffle buffer has begun with the second of the files then, and a global one has opened all of them.
TEST_P(Unmapped, RecordsOfAFileThatIsMovedAwayAreThoseThatWereThere) {
  const testing::Delivered expected = run(large, 1);
  for (const std::int64_t threads : {1, 2}) {
    const testing::Delivered got =
        run(small, threads, [&] { std::filesystem::rename(file(0), folder_.file("moved")); });
    EXPECT_TRUE(got == expected) << got.error;
    std::filesystem::rename(folder_.file("moved"), file(0));
  }
}

TEST_P(Unmapped, RecordsOfAFileThatIsCutShortAreAnErrorBehindRightOnes) {
  const testing::Delivered expected = run(large, 1);
  for (const std::int64_t threads : {1, 2}) {
    const auto cut = [&] {
      for (int part = 0; part < 3; ++part) std::filesystem::resize_file(file(part), 100'000);
    };
    const testing::Delivered got = run(small, threads, cut);
    EXPECT_THAT(got.error, HasSubstr(folder_.file("part-")));
    ASSERT_LT(got.batches.size(), expected.batches.size());
    EXPECT_TRUE(std::equal(got.batches.begin(), got.batches.end(), expected.batches.begin()));
    SetUp();
  }
}

INSTANTIATE_TEST_SUITE_P(Shuffled, Unmapped,
                         ::testing::Values(R"({"shuffle": {"buffer": 2500}})", R"({"shuffle": {"global": true}})"));

}  // namespace
}  // namespace forebay
