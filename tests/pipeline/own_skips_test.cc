// SPDX-License-Identifier: Apache-2.0
// Processes that read the records of their own rows only, where `on_corrupt` skips what the index says is corrupt.
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/own_records.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using ::testing::HasSubstr;
using testing::large_record;
using testing::resumed;
using testing::shards_of_all_kinds;

/// Files of large records, some of which are corrupt: the first one, neighbours, the last one, a frame whose length is
/// lost, a frame that the end of the file cuts, and a file of garbage.
class OwnSkips : public testing::LargeRecords {
 protected:
  enum class Fault { none, payload, header, cut };

  void SetUp() override {
    int id = 0;
    for (std::size_t file = 0; file < sizes.size(); ++file) {
      std::string bytes = file == 1 ? std::string(50'000, '?') : "";
      for (int n = 0; n < sizes[file]; ++n, ++id)
        bytes += corrupted(tests::framed(large_record(id)), fault_of(file, n));
      std::ofstream{part(file), std::ios::binary} << bytes;
    }
  }
  static Fault fault_of(std::size_t file, int n) {
    if (file == 0) return n == 0 || n == 7 || n == 8 || n == 23 ? Fault::payload : Fault::none;
    if (file == 2) return n == 5 || n == 6 ? Fault::header : n == 30 ? Fault::payload : Fault::none;
    return file == 3 && n == 6 ? Fault::cut : Fault::none;
  }
  static std::string corrupted(std::string frame, Fault fault) {
    if (fault == Fault::payload) frame[500] ^= 1;
    if (fault == Fault::header) frame[9] ^= 1;
    if (fault == Fault::cut) frame.resize(frame.size() / 2);
    return frame;
  }
  [[nodiscard]] Json skipping(const std::string& steps, const std::string& more = "",
                              const std::string& policy = R"("skip_record")") const {
    return document(steps, more + R"(, "on_corrupt": )" + policy);
  }
};

const std::vector<std::string>& orders_of_skips() {
  static const std::vector<std::string> all{
      R"({"batch": {"size": 12, "remainder": "pad"}})",
      R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 3}}, {"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 60}},
         {"batch": {"size": 12, "remainder": "pad"}})",
      R"({"interleave": {"cycle": 2}}, {"skip": {"count": 5}}, {"take": {"count": 55}},
         {"batch": {"size": 12, "remainder": "pad"}})",
      R"({"repeat": {"count": 2}}, {"shuffle": {"buffer": 16}}, {"batch": {"size": 12, "remainder": "repeat"}})",
      // The condition has no value for record 4 of part-2 (a divisor of zero), which is therefore skipped as well.
      R"({"filter": {"where": "100 // (length(v) - 17041) % 3 != 1"}}, {"shuffle": {"buffer": 20}},
         {"batch": {"size": 12, "remainder": "pad"}})"};
  return all;
}

/// All that a run gives: batches with the places of their rows, the error, and what was skipped.
std::vector<std::string> everything_of(Loader& loader) {
  std::vector<std::string> out;
  for (auto batch = loader.next(); !batch.ok() || *batch; batch = loader.next()) {
    out.push_back(batch.ok() ? testing::text_of(**batch) : "error: " + batch.error().text());
    if (!batch.ok()) break;
    for (std::int64_t row = 0; row < (*batch)->valid_rows(); ++row)
      out.back() += " " + std::to_string((*batch)->origin(row).record);
  }
  const Stats stats = loader.stats();
  std::string skips = std::to_string(stats.skipped_records) + " records, " + std::to_string(stats.skipped_ranges) +
                      " ranges, " + std::to_string(stats.skipped_files) + " files, " +
                      std::to_string(stats.skipped_bytes) + " bytes";
  for (const Error& error : stats.skipped) skips += "\n" + error.text();
  out.push_back(std::move(skips));
  return out;
}

std::vector<std::string> everything_of(const Json& json, const RunOptions& options) {
  auto loader = load(json, options);
  return loader.ok() ? everything_of(*loader) : std::vector{loader.error().text()};
}

TEST_F(OwnSkips, HaveTheStreamAndTheSkipsOfFilesThatAreReadWhole) {
  for (const std::string& steps : orders_of_skips()) {
    for (const std::string policy : {R"("skip_record")", R"("skip_file")"}) {
      for (const std::string& boundary : testing::boundaries()) {
        const Json json = skipping(steps, boundary, policy);
        index(json);
        for (RunOptions shard : shards_of_all_kinds()) {
          if (!testing::may_be_dealt(steps, shard)) continue;
          if (shard.threads == 3) shard.threads = 8;
          auto own = load(json, with_index(shard));
          const auto expected = everything_of(json, without_index(shard));
          ASSERT_GE(expected.size(), 2U);  // a batch, and the skips
          ASSERT_EQ(everything_of(*own), expected) << steps << policy << boundary << shard.shard_index;
          EXPECT_EQ(own->stats().reading.whole_files, 0);
          EXPECT_GE(own->stats().reading.own_files, 4);  // a `take` ends before the last one
        }
      }
    }
  }
}

TEST_F(OwnSkips, AreNotRead) {
  const Json json = skipping(R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 8}})");
  index(json);
  std::int64_t read = 0, payloads = 0;
  int id = 0;
  for (std::size_t file = 0; file < sizes.size(); ++file) {
    for (int n = 0; n < sizes[file]; ++n, ++id)
      payloads += fault_of(file, n) == Fault::none ? std::ssize(large_record(id)) : 0;
  }
  for (std::int64_t index = 0; index < 4; ++index) {
    const Stats own = stats_of(json, with_index({.threads = 2, .shard_index = index, .shard_count = 4}));
    EXPECT_EQ(own.bytes_read, own.row_bytes);
    EXPECT_EQ(own.reading.text(), "5 files: own records only; 1.00 bytes read for each byte of own rows");
    read += own.bytes_read;
  }
  EXPECT_EQ(read, payloads);
}

TEST_F(OwnSkips, AreReadWholeWhereTheIndexDoesNotNameThem) {
  const RunOptions shard = with_index({.shard_index = 1, .shard_count = 2});
  const std::string steps = R"({"batch": {"size": 8}})";
  const auto plain = index_files({part(0), part(2), part(4)}, {.index_dir = indexes_.path()});
  ASSERT_TRUE(plain.ok()) << plain.error().text();
  const Json json = skipping(steps);
  const std::string reason =
      "part-0.tfrecord: which of its records are corrupt is not stored; "
      "`forebay index --document` stores that";
  EXPECT_THAT(stats_of(json, shard).reading.text(), HasSubstr(reason));
  EXPECT_THAT(shard_reading(*Plan::make(json), shard).text(), HasSubstr(reason));
  index(json);
  EXPECT_EQ(stats_of(json, shard).reading.own_files, 5);
  EXPECT_EQ(shard_reading(*Plan::make(json), shard).own_files, 5);
  // What is malformed for one decoder or policy need not be so for another.
  EXPECT_THAT(stats_of(skipping(steps, "", R"("skip_file")"), shard).reading.text(), HasSubstr(reason));
}

TEST_F(OwnSkips, CountAgainstTheBudgetsInTheSamePlaces) {
  for (const std::string policy :
       {R"({"policy": "skip_record", "max_count": 5})", R"({"policy": "skip_record", "max_consecutive": 1})",
        R"({"policy": "skip_record", "max_fraction": 0.05})", R"({"policy": "skip_file", "max_count": 2})"}) {
    const Json json = skipping(R"({"interleave": {"cycle": 3}}, {"batch": {"size": 4}})", "", policy);
    index(json);
    for (std::int64_t index = 0; index < 4; ++index) {
      const RunOptions shard{.threads = 1 + 7 * (index % 2), .shard_index = index, .shard_count = 4};
      const auto expected = everything_of(json, without_index(shard));
      ASSERT_THAT(expected[expected.size() - 2], HasSubstr("too much is corrupt")) << policy;
      EXPECT_EQ(everything_of(json, with_index(shard)), expected) << policy;
    }
    const RunOptions half{.threads = 2, .shard_index = 1, .shard_count = 2};
    auto unbroken = load(json, with_index(half));
    const testing::WholeRun run = testing::whole_run(*unbroken);
    for (std::size_t at = 0; at < run.states.size(); ++at) {
      auto other = resumed(json, run.states[at], with_index(half));
      ASSERT_EQ(testing::rest(*other),
                std::vector<std::string>(run.lines.begin() + static_cast<std::ptrdiff_t>(at), run.lines.end()));
    }
  }
}

/// The rows of all shards, batch by batch, each with its place in its file.
std::vector<std::string> rows_of_all(std::vector<Loader>& shards, std::int64_t batches) {
  std::vector<std::string> out;
  for (std::int64_t n = 0; n < batches; ++n) {
    std::string line;
    for (Loader& shard : shards) {
      auto batch = shard.next();
      if (!batch.ok()) return out.push_back("error: " + batch.error().text()), out;
      if (!*batch) return out;
      for (std::int64_t row = 0; row < (*batch)->valid_rows(); ++row)
        line += (*batch)->key(row) + " " + std::to_string((*batch)->origin(row).record) + "\n";
    }
    out.push_back(std::move(line));
  }
  return out;
}

TEST_F(OwnSkips, GoOnAlikeInChainsOfRestartsWithOtherShardsWithAndWithoutTheIndex) {
  std::mt19937 random{20261125};
  const auto any = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  for (const std::string& steps : orders_of_skips()) {
    const Json json = skipping(steps, testing::boundaries()[static_cast<std::size_t>(any(2))]);
    index(json);
    std::vector<Loader> one;
    one.push_back(*load(json, without_index({.threads = 2})));
    const std::vector<std::string> expected = rows_of_all(one, 1'000);
    for (int chain = 0; chain < tests::how_much(6, 2, 1); ++chain) {
      std::optional<Json> state;
      std::vector<std::string> got;
      for (bool more = true; more;) {
        const std::int64_t count = std::array{1, 2, 3, 4, 6, 12}[static_cast<std::size_t>(any(6))];
        std::vector<Loader> shards;
        for (std::int64_t index = 0; index < count; ++index) {
          RunOptions options{.threads = any(2) == 0 ? 1 : 8, .shard_index = index, .shard_count = count};
          options = any(3) == 0 ? without_index(options) : with_index(options);
          auto shard = state ? resumed(json, *state, options) : load(json, options);
          ASSERT_TRUE(shard.ok()) << shard.error().text();
          shards.push_back(*std::move(shard));
        }
        const std::int64_t batches = 1 + any(5);
        const auto leg = rows_of_all(shards, batches);
        got.insert(got.end(), leg.begin(), leg.end());
        more = std::ssize(leg) == batches;
        state = testing::kept(shards[static_cast<std::size_t>(any(count))]);
      }
      ASSERT_EQ(got, expected) << steps << chain;
    }
  }
}

TEST_F(OwnSkips, RestartAtEveryBatchIsTheRestOfTheUnbrokenRun) {
  const Json json = skipping(R"({"shuffle": {"buffer": 20}}, {"interleave": {"cycle": 2}}, {"batch": {"size": 12}})",
                             testing::boundaries()[1]);
  index(json);
  const RunOptions half{.threads = 8, .shard_index = 1, .shard_count = 2};
  auto unbroken = load(json, with_index(half));
  const testing::WholeRun run = testing::whole_run(*unbroken);
  for (std::size_t at = 0; at < run.states.size(); ++at) {
    const std::vector<std::string> left(run.lines.begin() + static_cast<std::ptrdiff_t>(at), run.lines.end());
    for (const std::int64_t threads : {1, 8}) {
      RunOptions same = half;
      same.threads = threads;
      auto own = resumed(json, run.states[at], with_index(same));
      ASSERT_EQ(testing::rest(*own), left) << at;
      auto whole = resumed(json, run.states[at], without_index(same));
      ASSERT_EQ(testing::rest(*whole), left) << at;
    }
  }
}

TEST_F(OwnSkips, OfAFileThatHasChangedAreFoundByReadingItWhole) {
  const Json json = skipping(R"({"batch": {"size": 8}})");
  index(json);
  std::ofstream{part(3), std::ios::binary} << tests::framed(large_record(1000))
                                           << corrupted(tests::framed(large_record(1001)), Fault::payload)
                                           << tests::framed(large_record(1002));
  const RunOptions shard{.shard_index = 0, .shard_count = 2};
  EXPECT_EQ(everything_of(json, with_index(shard)), everything_of(json, without_index(shard)));
  const Stats stats = stats_of(json, with_index(shard));
  EXPECT_EQ(stats.reading.own_files, 4);
  EXPECT_THAT(stats.reading.reason, HasSubstr("part-3.tfrecord: its index is not used: the file has changed"));
}

// The index says that record 9 is good: it has a row, and a row is not taken back.
TEST_F(OwnSkips, DoNotHideARecordThatHasBecomeCorruptSince) {
  const Json json = skipping(R"({"batch": {"size": 8}})");
  index(json);
  const auto changed = std::filesystem::last_write_time(part(0));
  std::int64_t place = 1'000;
  for (int id = 0; id < 9; ++id) place += std::ssize(tests::framed(large_record(id)));
  std::fstream file{part(0), std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(place);
  file.write("?", 1);
  file.close();
  std::filesystem::last_write_time(part(0), changed);  // the disk did it, and the index is still that of the file
  const auto other = testing::run(json, with_index({.shard_index = 0, .shard_count = 2}));
  EXPECT_EQ(other.error, "");
  const auto own = testing::run(json, with_index({.shard_index = 1, .shard_count = 2}));
  EXPECT_EQ(own.batches.size(), 0U);
  EXPECT_THAT(own.error, HasSubstr("part-0.tfrecord, record 9"));
  EXPECT_THAT(own.error, HasSubstr("checksum"));
}

// Rows that skip_row takes out are known when they are made, so no index has to name them.
TEST_F(OwnSkips, OfRowsNeedNoStoredSkips) {
  std::filesystem::remove(part(1));
  for (const std::size_t file : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
    std::string bytes;
    for (int n = 0; n < 20; ++n)
      bytes += corrupted(tests::framed(large_record(n)), n % 6 == 1 ? Fault::payload : Fault::none);
    std::ofstream{part(file), std::ios::binary} << bytes;
  }
  for (const std::string policy : {R"("skip_row")", R"({"policy": "skip_row", "max_count": 3})"}) {
    const Json json = skipping(R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 12}})", "", policy);
    index(json);
    for (const RunOptions& shard : shards_of_all_kinds()) {
      if (shard.shard_by == ShardBy::element) continue;
      auto own = load(json, with_index(shard));
      ASSERT_EQ(everything_of(*own), everything_of(json, without_index(shard))) << policy << shard.shard_index;
      EXPECT_EQ(own->stats().reading.whole_files, 0);
    }
  }
}

}  // namespace
}  // namespace forebay
