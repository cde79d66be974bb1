// SPDX-License-Identifier: Apache-2.0
// Processes that take only some of the rows, and read the records of these rows only.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/own_records.h"

namespace forebay {
namespace {

using testing::Delivered;
using testing::Folder;
using ::testing::HasSubstr;
using testing::large_record;
using testing::may_be_dealt;
using testing::parse;
using testing::rest;
using testing::resumed;
using testing::shards_of_all_kinds;

class OwnRecords : public testing::LargeRecords {};

const std::vector<std::string>& orders_of_large() {
  static const std::vector<std::string> all{
      R"({"batch": {"size": 12}})",
      R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 3}}, {"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 60}},
         {"batch": {"size": 12}})",
      R"({"interleave": {"cycle": 2}}, {"skip": {"count": 5}}, {"take": {"count": 55}},
         {"batch": {"size": 12, "remainder": "pad"}})",
      R"({"repeat": {"count": 2}}, {"shuffle": {"buffer": 16}}, {"batch": {"size": 12, "remainder": "repeat"}})",
      R"({"filter": {"where": "length(v) % 3 != 1"}}, {"shuffle": {"buffer": 20}}, {"batch": {"size": 12}})",
      R"({"interleave": {"cycle": 3}}, {"filter": {"where": "length(v) % 2 == 0"}}, {"take": {"count": 30}},
         {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 12}}, {"shuffle_batches": {"buffer": 4}})"};
  return all;
}

TEST_F(OwnRecords, HaveTheStreamOfFilesThatAreReadWhole) {
  for (const std::string& steps : orders_of_large()) {
    for (const std::string& boundary : testing::boundaries()) {
      const Json json = document(steps, boundary);
      index(json);
      for (const RunOptions& shard : shards_of_all_kinds()) {
        if (!may_be_dealt(steps, shard)) continue;
        auto own = load(json, with_index(shard));
        auto whole = load(json, without_index(shard));
        ASSERT_TRUE(own.ok()) << own.error().text();
        const auto expected = rest(*whole);
        ASSERT_FALSE(expected.empty());
        ASSERT_EQ(rest(*own), expected) << steps << boundary << shard.shard_index << " of " << shard.shard_count;
        EXPECT_EQ(own->stats().reading.whole_files, 0);
        EXPECT_GE(own->stats().reading.own_files, 4);  // a `take` ends before the last one
        EXPECT_EQ(whole->stats().reading.own_files, 0);
      }
    }
  }
}

TEST_F(OwnRecords, AreAllThatIsRead) {
  const Json json = document(R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 8}})");
  index(json);
  std::int64_t all = 0, payloads = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) all += static_cast<std::int64_t>(std::filesystem::file_size(part(i)));
  for (int id = 0; id < 88; ++id) payloads += std::ssize(large_record(id));
  std::int64_t read = 0;
  for (std::int64_t index = 0; index < 4; ++index) {
    const RunOptions shard{.threads = 2, .shard_index = index, .shard_count = 4};
    const Stats own = stats_of(json, with_index(shard));
    EXPECT_EQ(own.bytes_read, own.row_bytes);
    EXPECT_EQ(own.reading.amplification, 1);
    EXPECT_EQ(own.reading.text(), "5 files: own records only; 1.00 bytes read for each byte of own rows");
    read += own.bytes_read;
    const Stats whole = stats_of(json, without_index(shard));
    EXPECT_EQ(whole.bytes_read, all);
    EXPECT_EQ(whole.row_bytes, own.row_bytes);
    EXPECT_THAT(whole.reading.text(), HasSubstr("it has no index; `forebay index` makes one"));
    EXPECT_NEAR(whole.reading.amplification, 4, 0.2);
  }
  EXPECT_EQ(read, payloads);
  EXPECT_EQ(stats_of(json, with_index({})).reading.text(), "");  // of one process
}

// What a global shuffle has read was counted for all shards.
TEST_F(OwnRecords, OfAGlobalShuffleAreCountedOnce) {
  const Json json = document(R"({"shuffle": {"global": true}}, {"batch": {"size": 8}})");
  std::int64_t read = 0;
  for (std::int64_t index = 0; index < 4; ++index)
    read += stats_of(json, with_index({.shard_index = index, .shard_count = 4})).bytes_read;
  EXPECT_EQ(read, stats_of(json, with_index({})).bytes_read);
}

TEST_F(OwnRecords, RestartAtEveryBatchWithAnotherNumberOfShardsAndWithoutTheIndex) {
  const std::string steps = R"({"shuffle": {"buffer": 20}}, {"interleave": {"cycle": 2}}, {"batch": {"size": 12}})";
  for (const std::string& boundary : testing::boundaries()) {
    const Json json = document(steps, boundary);
    index(json);
    auto unbroken = load(json, with_index({.shard_index = 1, .shard_count = 2}));
    const testing::WholeRun run = testing::whole_run(*unbroken);
    for (std::size_t at = 0; at < run.states.size(); ++at) {
      const std::vector<std::string> left(run.lines.begin() + static_cast<std::ptrdiff_t>(at), run.lines.end());
      for (const bool indexed : {true, false}) {
        const RunOptions half{.threads = 2, .shard_index = 1, .shard_count = 2};
        auto other = resumed(json, run.states[at], indexed ? with_index(half) : without_index(half));
        ASSERT_TRUE(other.ok()) << other.error().text();
        ASSERT_EQ(rest(*other), left) << at << indexed;
        const RunOptions third{.shard_index = 2, .shard_count = 3};
        auto own = resumed(json, run.states[at], with_index(third));
        auto whole = resumed(json, run.states[at], without_index(third));
        ASSERT_EQ(rest(*own), rest(*whole)) << at;
      }
    }
  }
}

// Batch 1 has the bad record in the rows of shard 1: shard 0 never looks at it.
TEST_F(OwnRecords, OfAnotherShardMayBeCorrupt) {
  const Json json = document(R"({"batch": {"size": 8}})");
  index(json);
  const auto changed = std::filesystem::last_write_time(part(0));
  std::fstream file{part(0), std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(13 * 17'500);
  file.write("?", 1);
  file.close();
  std::filesystem::last_write_time(part(0), changed);  // the disk did it, and the index is still that of the file
  const Delivered other = testing::run(json, with_index({.shard_index = 0, .shard_count = 2}));
  EXPECT_EQ(other.error, "");
  EXPECT_EQ(other.batches.size(), 11U);
  const Delivered own = testing::run(json, with_index({.shard_index = 1, .shard_count = 2}));
  EXPECT_EQ(own.batches.size(), 1U);
  EXPECT_THAT(own.error, HasSubstr("part-0.tfrecord"));
  EXPECT_THAT(own.error, HasSubstr("checksum"));
}

TEST_F(OwnRecords, OfAFileThatHasChangedAreFoundByReadingItWhole) {
  const Json json = document(R"({"batch": {"size": 8}})");
  index(json);
  ASSERT_TRUE(write_records(part(3), {large_record(1000), large_record(1001)}, Compression::none).ok());
  const RunOptions shard{.shard_index = 0, .shard_count = 2};
  EXPECT_EQ(testing::run(json, with_index(shard)), testing::run(json, without_index(shard)));
  const Stats stats = stats_of(json, with_index(shard));
  EXPECT_EQ(stats.reading.own_files, 4);
  EXPECT_EQ(stats.reading.whole_files, 1);
  EXPECT_THAT(stats.reading.reason, HasSubstr("part-3.tfrecord: its index is not used: the file has changed"));
}

TEST_F(OwnRecords, OfSmallRecordsAndCompressedFilesAreNotWorthIt) {
  ASSERT_TRUE(write_records(part(1), {std::string(16'300, 'x'), std::string(16'300, 'y')}, Compression::none).ok());
  ASSERT_TRUE(write_records(part(3), {large_record(5), large_record(6)}, Compression::gzip).ok());
  const Json json = document(R"({"batch": {"size": 8}})");
  index(json);
  const RunOptions shard{.shard_index = 1, .shard_count = 2};
  EXPECT_EQ(testing::run(json, with_index(shard)), testing::run(json, without_index(shard)));
  EXPECT_EQ(stats_of(json, with_index(shard)).reading.whole_files, 2);
  EXPECT_THAT(stats_of(json, with_index(shard)).reading.reason,
              HasSubstr("part-1.tfrecord: its records have 16316 bytes"));
  const auto plan = Plan::make(json);
  const ShardReading expected = shard_reading(*plan, with_index(shard));
  EXPECT_EQ(expected.own_files, 3);
  EXPECT_EQ(expected.whole_files, 2);
  EXPECT_NEAR(expected.amplification, 1.02, 0.03);
  EXPECT_EQ(shard_reading(*plan, {}).text(), "");
  EXPECT_EQ(shard_reading(*plan, {.shard_count = 2, .shard_by = ShardBy::file}).text(), "");
}

TEST_F(OwnRecords, NeedTheValuesOfAFilter) {
  const Json plain = document(R"({"batch": {"size": 8}})");
  index(plain);
  const RunOptions shard = with_index({.shard_index = 1, .shard_count = 2});
  const Json filtered = document(R"({"filter": {"where": "length(v) > 17100"}}, {"batch": {"size": 8}})");
  EXPECT_THAT(stats_of(filtered, shard).reading.text(), HasSubstr("5 files: read whole"));
  EXPECT_THAT(stats_of(filtered, shard).reading.text(), HasSubstr("values that an order needs of its records are not"));
  index(filtered);
  EXPECT_EQ(stats_of(filtered, shard).reading.own_files, 5);
}

TEST_F(OwnRecords, OfAFileThatIsCutWhileItIsReadAreAnErrorBehindRightOnes) {
  const Json json = document(R"({"batch": {"size": 4}})");
  index(json);
  const RunOptions shard = with_index({.threads = 1, .prefetch = 1, .shard_index = 1, .shard_count = 2});
  const auto expected = testing::run(json, shard).batches;
  auto loader = load(json, shard);
  std::vector<std::string> got = rest(*loader, 1);
  std::filesystem::resize_file(part(2), 50'000);
  for (const std::string& line : rest(*loader)) got.push_back(line);
  ASSERT_LE(got.size(), expected.size());
  EXPECT_THAT(got.back(), HasSubstr("error: "));
  EXPECT_THAT(got.back(), HasSubstr("part-2.tfrecord"));
  got.pop_back();
  EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
}

/// Files that are records.
class OwnWholeFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < files; ++i) {
      const std::string number = std::to_string(1000 + i);
      std::ofstream{data_.file("f-" + number)} << number << std::string(static_cast<std::size_t>(i % 7) * 100, 'x');
    }
  }
  [[nodiscard]] Json document(const std::string& steps, const std::string& more = "") const {
    return parse(R"({"source": {"whole_file": {"files": [")" + data_.file("f-*") +
                 R"("]}}, "decode": {"record": {"name": "v"}}, "steps": [)" + steps + "]" + more + "}");
  }
  static constexpr int files = 120;
  Folder data_;
};

std::string words_of(const Batch& batch) {
  std::string out;
  for (std::int64_t row = 0; row < batch.valid_rows(); ++row) out += std::string{batch.tensor("v").string(row)} + "\n";
  return out;
}

TEST_F(OwnWholeFiles, TogetherAreTheStreamOfOneProcess) {
  for (const std::string order : {"", R"({"shuffle": {"buffer": 30}}, )", R"({"skip": {"count": 7}}, )"}) {
    for (const std::string& boundary : testing::boundaries()) {
      const Json json = document(order + R"({"batch": {"size": 12, "remainder": "drop"}})", boundary);
      auto one = load(json, {.threads = 2});
      std::string expected, together;
      for (const Batch& batch : one->batches()) expected += words_of(batch);
      std::vector<Loader> shards;
      for (std::int64_t index = 0; index < 3; ++index)
        shards.push_back(*load(json, {.threads = 1 + index, .shard_index = index, .shard_count = 3}));
      for (bool more = true; more;) {
        for (Loader& shard : shards) {
          auto batch = shard.next();
          ASSERT_TRUE(batch.ok()) << batch.error().text();
          more = batch->has_value();
          if (more) together += words_of(**batch);
        }
      }
      ASSERT_EQ(together, expected) << order << boundary;
      std::int64_t read = 0;
      for (const Loader& shard : shards) {
        EXPECT_EQ(shard.stats().reading.own_files, files);
        read += shard.stats().bytes_read;
      }
      EXPECT_LE(read, one->stats().bytes_read);
    }
  }
}

// The files of other shards are not even opened.
TEST_F(OwnWholeFiles, OfOtherShardsMayBeMissing) {
  const Json json = document(R"({"batch": {"size": 8}})");
  const auto plan = Plan::make(json);
  std::filesystem::remove(data_.file("f-1013"));  // row 5 of batch 1
  for (std::int64_t index = 0; index < 2; ++index) {
    auto loader = Loader::start(*plan, {.shard_index = index, .shard_count = 2});
    const auto got = rest(*loader);
    EXPECT_EQ(got.size(), index == 0 ? 15U : 2U);
    if (index == 1) {
      EXPECT_THAT(got.back(), HasSubstr("f-1013"));
    }
  }
}

TEST_F(OwnWholeFiles, RestartAtEveryBatchWithAnotherNumberOfShards) {
  const Json json = document(R"({"shuffle": {"buffer": 30}}, {"batch": {"size": 12}})", testing::boundaries()[0]);
  auto unbroken = load(json, {.shard_index = 1, .shard_count = 2});
  const testing::WholeRun run = testing::whole_run(*unbroken);
  auto other = load(json, {.shard_index = 3, .shard_count = 4});
  const std::vector<std::string> quarter = rest(*other);
  for (std::size_t at = 0; at < run.states.size(); ++at) {
    auto half = resumed(json, run.states[at], {.threads = 2, .shard_index = 1, .shard_count = 2});
    const auto from = static_cast<std::ptrdiff_t>(at);
    ASSERT_EQ(rest(*half), std::vector<std::string>(run.lines.begin() + from, run.lines.end())) << at;
    auto fourth = resumed(json, run.states[at], {.shard_index = 3, .shard_count = 4});
    ASSERT_EQ(rest(*fourth), std::vector<std::string>(quarter.begin() + from, quarter.end())) << at;
  }
}

}  // namespace
}  // namespace forebay
