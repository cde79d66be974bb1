// SPDX-License-Identifier: Apache-2.0
// Processes whose rows are windows of records, and that read the records of their own rows only.
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/own_records.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using ::testing::HasSubstr;
using testing::resumed;

/// A sequence of 4,200 to 5,200 frames, and its id.
std::string sequence_of(std::int64_t id) {
  std::vector<float> frames(static_cast<std::size_t>(4'200 + id * 37 % 997));
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<float>(id * 1'000 + std::int64_t(i % 700));
  return encode_example({{"id", std::vector<std::int64_t>{id}}, {"x", frames}});
}

/// Files of long sequences, one of them empty. Records 3 of the first file and 10 of the third one are corrupt in a
/// second set of files.
class OwnWindows : public testing::LargeRecords {
 protected:
  void SetUp() override {
    std::int64_t id = 0;
    for (std::size_t file = 0; file < sizes.size(); ++file) {
      std::string good, bad;
      for (int n = 0; n < sizes[file]; ++n, ++id) {
        std::string frame = tests::framed(sequence_of(id));
        good += frame;
        if ((file == 0 && n == 3) || (file == 2 && n == 10)) frame[500] ^= 1;
        bad += frame;
      }
      const std::string name = "part-" + std::to_string(file);
      std::ofstream{data_.file("good-" + name), std::ios::binary} << good;
      std::ofstream{data_.file("bad-" + name), std::ios::binary} << bad;
    }
  }
  [[nodiscard]] Json windows(const std::string& files, const std::string& steps, const std::string& more) const {
    return testing::parse(R"({"source": {"tfrecord": {"files": [")" + data_.file(files + "-part-?") +
                          R"("]}}, "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
                          "x": {"kind": "var_len", "dtype": "float32"}}}}, "steps": [)" +
                          steps + "]" + more + "}");
  }
};

/// Steps whose windows are few enough for twelve processes, and the remainder of whose batches may be dealt.
const std::vector<std::string>& orders_of_windows() {
  static const std::vector<std::string> all{
      R"({"chunk": {"size": 6000}}, {"batch": {"size": 12, "remainder": "pad", "pad": true}})",
      R"({"shuffle": {"buffer": 20}}, {"chunk": {"size": 2000, "step": 1500}}, {"shuffle": {"buffer": 40}},
         {"batch": {"size": 12, "remainder": "drop", "pad": true}})",
      R"({"chunk": {"size": 2000, "step": 1500, "variance": 0.2}}, {"context": {"window": 3}},
         {"filter": {"where": "length(x) > 1000"}}, {"batch": {"size": 12, "remainder": "pad", "pad": true}})",
      R"({"continuous": {"min_window": 3000, "max_window": 5000, "stride": 4000}}, {"interleave": {"cycle": 3}},
         {"shuffle": {"buffer": 30}}, {"batch": {"size": 12, "remainder": "drop", "pad": true}})",
      R"({"discrete": {"min_window": 2, "max_window": 3}}, {"batch": {"size": 12, "remainder": "pad", "pad": true}})",
      R"({"filter": {"where": "id % 5 != 0"}}, {"chunk": {"size": 2500}}, {"skip": {"count": 3}},
         {"batch": {"size": 12, "remainder": "drop", "pad": true}})",
      R"({"shuffle": {"buffer": 20}}, {"chunk": {"size": 1800, "step": 1700}},
         {"packed": {"length": 6000, "rows": 12, "fit": "best", "positions": "at"}})",
      R"({"unroll": {"num_unroll": 2000}}, {"stateful": {"batch_size": 12}})"};
  return all;
}

bool are_dealt_by_element(const std::string& steps) {
  return steps.find("packed") == std::string::npos && steps.find("stateful") == std::string::npos;
}

TEST_F(OwnWindows, HaveTheStreamOfFilesThatAreReadWhole) {
  for (const std::string& steps : orders_of_windows()) {
    for (const std::string files : {"good", "bad"}) {
      const std::string more = files == "bad" ? R"(, "on_corrupt": "skip_record")" : "";
      const Json json = windows(files, steps, testing::boundaries()[1] + more);
      index(json);
      for (const ShardBy by : {ShardBy::row, ShardBy::element, ShardBy::batch}) {
        if (by == ShardBy::element && !are_dealt_by_element(steps)) continue;
        for (const std::int64_t at : {0, 5, 11}) {
          const RunOptions shard{.threads = at == 5 ? 8 : 1, .shard_index = at, .shard_count = 12, .shard_by = by};
          auto own = load(json, with_index(shard));
          auto whole = load(json, without_index(shard));
          ASSERT_TRUE(own.ok()) << own.error().text();
          ASSERT_EQ(testing::rest(*own), testing::rest(*whole)) << steps << files << static_cast<int>(by) << at;
          EXPECT_EQ(own->stats().skipped_text(), whole->stats().skipped_text());
          EXPECT_THAT(own->stats().reading.text(), HasSubstr("5 files: own records only")) << steps;
          EXPECT_LT(own->stats().bytes_read, whole->stats().bytes_read) << steps << files << static_cast<int>(by);
        }
      }
    }
  }
}

TEST_F(OwnWindows, RestartAtEveryBatchWithAnotherNumberOfShardsAndWithoutTheIndex) {
  for (const std::size_t order : {std::size_t{1}, std::size_t{3}, std::size_t{6}, std::size_t{7}}) {
    const Json json =
        windows("bad", orders_of_windows()[order], R"(, "epochs": 2, "seed": 5, "on_corrupt": "skip_record")");
    index(json);
    auto unbroken = load(json, with_index({.threads = 2, .shard_index = 5, .shard_count = 12}));
    const testing::WholeRun run = testing::whole_run(*unbroken);
    ASSERT_GT(run.states.size(), 3U);
    for (std::size_t at = 0; at < run.states.size(); ++at) {
      const std::vector<std::string> left(run.lines.begin() + static_cast<std::ptrdiff_t>(at), run.lines.end());
      const RunOptions same{.threads = at % 2 == 0 ? 1 : 8, .shard_index = 5, .shard_count = 12};
      auto own = resumed(json, run.states[at], with_index(same));
      ASSERT_TRUE(own.ok()) << own.error().text();
      ASSERT_EQ(testing::rest(*own), left) << order << " " << at;
      auto whole = resumed(json, run.states[at], without_index(same));
      ASSERT_EQ(testing::rest(*whole), left) << order << " " << at;
      const RunOptions other{.shard_index = 2, .shard_count = 4};
      auto fourth = resumed(json, run.states[at], with_index(other));
      auto fourth_whole = resumed(json, run.states[at], without_index(other));
      ASSERT_EQ(testing::rest(*fourth), testing::rest(*fourth_whole)) << order << " " << at;
    }
  }
}

TEST_F(OwnWindows, OfManyInARecordAreReadWhole) {
  const auto reading = [&](const std::string& steps, std::int64_t processes) {
    const Json json = windows("good", steps, "");
    index(json);
    const RunOptions shard = with_index({.shard_index = 1, .shard_count = processes});
    EXPECT_EQ(shard_reading(*Plan::make(json), shard).reason, stats_of(json, shard).reading.reason);
    return stats_of(json, shard).reading.text();
  };
  const std::string chunks = R"({"chunk": {"size": 2000, "step": 1500}}, {"batch": {"size": 12, "pad": true}})";
  EXPECT_THAT(reading(chunks, 12), HasSubstr("5 files: own records only"));
  EXPECT_THAT(reading(chunks, 4), HasSubstr("good-part-0: each of its records lies in "));
  EXPECT_THAT(reading(chunks, 4), HasSubstr(" windows, more than half of 4 processes"));
  EXPECT_THAT(reading(R"({"unbatch": {}}, {"batch": {"size": 12}})", 12), HasSubstr("more than half of 12 processes"));
}

TEST_F(OwnWindows, NeedTheLengthsOfTheirRecords) {
  const auto plain = index_files({data_.file("good-part-?")}, {.index_dir = indexes_.path()});
  ASSERT_TRUE(plain.ok()) << plain.error().text();
  const Json json = windows("good", R"({"chunk": {"size": 6000}}, {"batch": {"size": 12, "pad": true}})", "");
  const RunOptions shard = with_index({.shard_index = 1, .shard_count = 2});
  EXPECT_THAT(stats_of(json, shard).reading.text(), HasSubstr("values that an order needs of its records are not"));
  index(json);
  EXPECT_EQ(stats_of(json, shard).reading.own_files, 5);
}

}  // namespace
}  // namespace forebay
