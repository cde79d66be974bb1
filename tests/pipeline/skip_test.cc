// SPDX-License-Identifier: Apache-2.0
// Tests of `on_corrupt`: the faults that it covers, its budgets, and its counters.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using testing::Delivered;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

Ids range(std::int64_t first, std::int64_t end) {
  Ids out;
  for (std::int64_t id = first; id < end; ++id) out.push_back(id);
  return out;
}

/// A file of examples in which `bad` of each `every` payloads, from the first on, have a wrong byte.
std::string write_corrupt(const std::string& path, std::int64_t records, std::int64_t bad,
                          std::int64_t every = 1 << 30) {
  std::string bytes;
  for (std::int64_t id = 0; id < records; ++id) {
    std::string frame = tests::framed(testing::example_of(id));
    if (id % every < bad) frame[14] ^= 1;
    bytes += frame;
  }
  std::ofstream{path, std::ios::binary} << bytes;
  return path;
}

/// What a run over corrupt files delivered.
struct Remains {
  Ids ids;
  std::optional<Error> error;
  Stats stats;
  [[nodiscard]] std::string text() const { return error ? error->text() : ""; }
};

Remains remains_of(Result<Loader> pipeline) {
  Remains out;
  EXPECT_TRUE(pipeline.ok());
  while (true) {
    auto batch = pipeline->next();
    if (!batch.ok()) out.error = batch.error();
    if (!batch.ok() || !*batch) break;
    for (const std::int64_t id : (*batch)->tensor("id").as<std::int64_t>()) out.ids.push_back(id);
  }
  out.stats = pipeline->stats();
  return out;
}

Remains remains_of(const Json& document, std::int64_t threads = 2) {
  return remains_of(load(document, {.threads = threads, .memory = 64 << 20}));
}

/// The same, where the file goes between planning and running.
Remains remains_without(const std::string& file, const Json& document, std::int64_t threads = 2) {
  testing::write_examples(file, 3, 3);
  const auto plan = Plan::make(document);
  std::filesystem::remove(file);
  EXPECT_TRUE(plan.ok());
  return remains_of(Loader::start(*plan, {.threads = threads, .memory = 64 << 20}));
}

/// Single rows over the files, with a policy written as JSON.
Json policy(const std::string& files, const std::string& json, const std::string& steps = "") {
  return testing::document(files, steps + R"({"batch": {"size": 1}})", R"(, "on_corrupt": )" + json);
}

TEST(Budget, MaxCountAllowsThatManySkipsOfAnEpochAndNoMore) {
  const Folder folder;
  const std::string path = write_corrupt(folder.file("a"), 40, 1, 10);  // 0, 10, 20 and 30
  const auto allowed = [&](int count) {
    return remains_of(policy(path, R"({"policy": "skip_record", "max_count": )" + std::to_string(count) + "}"));
  };
  EXPECT_EQ(allowed(4).text(), "");
  EXPECT_EQ(allowed(4).ids.size(), 36U);
  const Remains seen = allowed(3);
  EXPECT_THAT(seen.text(), HasSubstr(path + ", record 30"));
  EXPECT_THAT(seen.text(),
              HasSubstr("on_corrupt.max_count allows 3 skips in an epoch; the last was: corrupted record"));
  EXPECT_EQ(seen.error->code(), Code::data);
  EXPECT_EQ(seen.error->detail(), Detail::data_loss);
  EXPECT_EQ(seen.ids.size(), 27U) << "what is before the fault comes first";
  EXPECT_EQ(seen.stats.skipped_records, 3);
  EXPECT_EQ(allowed(0).ids, Ids{});
}

TEST(Budget, IsCountedAnewInEveryEpoch) {
  const Folder folder;
  Json json = policy(write_corrupt(folder.file("a"), 40, 1, 10), R"({"policy": "skip_record", "max_count": 4})");
  json.set("epochs", 3);
  const Remains seen = remains_of(json);
  EXPECT_EQ(seen.text(), "");
  EXPECT_EQ(seen.ids.size(), 3 * 36U);
  EXPECT_EQ(seen.stats.skipped_records, 12);
}

TEST(Budget, MaxConsecutiveIsAHundredUnlessToldOtherwise) {
  const Folder folder;
  const std::string hundred = write_corrupt(folder.file("a"), 102, 100);
  const std::string more = write_corrupt(folder.file("b"), 102, 101);
  EXPECT_EQ(remains_of(policy(hundred, R"("skip_record")")).ids, range(100, 102));
  const Remains seen = remains_of(policy(more, R"("skip_record")"));
  EXPECT_THAT(seen.text(), HasSubstr("on_corrupt.max_consecutive allows 100 skips without a good record in between"));
  EXPECT_EQ(seen.error->detail(), Detail::data_loss);
  EXPECT_EQ(remains_of(policy(more, R"({"policy": "skip_record", "max_consecutive": 101})")).ids, range(101, 102));
}

TEST(Budget, MaxFractionIsJudgedFromAThousandRecordsOnAndAtTheEnd) {
  const Folder folder;
  const auto judged = [&](const std::string& path, const char* fraction) {
    return remains_of(policy(path, std::string{R"({"policy": "skip_record", "max_fraction": )"} + fraction + "}"));
  };
  const std::string few = write_corrupt(folder.file("few"), 100, 1, 10);
  EXPECT_EQ(judged(few, "0.1").text(), "");
  const Remains end = judged(few, "0.09");
  EXPECT_EQ(end.ids.size(), 90U) << "so few say little before the end";
  EXPECT_THAT(end.text(), HasSubstr("10 of 100 records of the epoch were skipped, on_corrupt.max_fraction is 0.09"));
  const Remains early = judged(write_corrupt(folder.file("many"), 5000, 1, 10), "0.05");
  EXPECT_EQ(early.ids.size(), 900U);
  EXPECT_THAT(early.text(), HasSubstr("101 of 1001 records were skipped, on_corrupt.max_fraction is 0.05"));
  EXPECT_EQ(early.error->detail(), Detail::data_loss);
}

/// `records` equal examples, of which `lost` in one piece are overwritten.
std::string equal_frames(std::int64_t records, std::int64_t first_lost = 0, std::int64_t lost = 0) {
  const std::string frame = tests::framed(testing::example_of(5));
  std::string bytes;
  for (std::int64_t i = 0; i < records; ++i)
    bytes += i < first_lost || i >= first_lost + lost ? frame : std::string(frame.size(), 'x');
  return bytes;
}

std::string write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
  return path;
}

/// The error under a budget that allows no skip; the same for every number of threads, and where all files are indexed
/// first.
std::string loss_in(const std::string& files, const std::string& name) {
  const std::string json = R"({"policy": ")" + name + R"(", "max_fraction": 0})";
  const std::string text = remains_of(policy(files, json), 1).text();
  EXPECT_EQ(remains_of(policy(files, json), 3).text(), text);
  EXPECT_EQ(remains_of(policy(files, json, R"({"shuffle": {"global": true}}, )")).text(), text);
  return text;
}

std::string skipped_of(std::int64_t skips, std::int64_t all) {
  return "too much is corrupt: " + std::to_string(skips) + " of " + std::to_string(all) +
         " records of the epoch were skipped, on_corrupt.max_fraction is 0";
}

TEST(Budget, MaxFractionCountsALostRangeOrFileAsOneRecord) {
  const Folder folder;
  const std::string range_lost = write_bytes(folder.file("range"), equal_frames(900, 500, 100));
  EXPECT_EQ(loss_in(range_lost, "skip_record"), skipped_of(1, 801));
  EXPECT_EQ(loss_in(range_lost, "skip_file"), skipped_of(1, 501));
  EXPECT_EQ(remains_of(policy(range_lost, R"({"policy": "skip_record", "max_fraction": 0.0013})")).text(), "");
  EXPECT_THAT(remains_of(policy(range_lost, R"({"policy": "skip_record", "max_fraction": 0.0012})")).text(),
              HasSubstr("1 of 801 records"));
  const std::string end_lost = write_bytes(folder.file("end"), equal_frames(2'000, 500, 1'500));
  EXPECT_EQ(loss_in(end_lost, "skip_record"), skipped_of(1, 501));
  write_bytes(folder.file("whole-1"), equal_frames(300));
  write_bytes(folder.file("whole-2"), equal_frames(200));
  const std::string files =
      folder.file("whole-1") + R"(", ")" + folder.file("missing") + R"(", ")" + folder.file("whole-2");
  EXPECT_EQ(loss_in(files, "skip_file"), skipped_of(1, 501));
}

TEST(Budget, MaxFractionCountsTheLostRestOfCompressedDataAsOneRecord) {
  const Folder folder;
  std::vector<std::string> messages;
  for (std::int64_t id = 0; id < 900; ++id) messages.push_back(testing::example_of(id * 7919 % 900));
  const std::string path = folder.file("a.gz");
  ASSERT_TRUE(write_records(path, messages, Compression::gzip).ok());
  std::stringstream whole;
  whole << std::ifstream{path, std::ios::binary}.rdbuf();
  const std::string bytes = whole.str();
  std::string broken = bytes;
  for (std::size_t at = bytes.size() * 3 / 4; at < bytes.size() * 3 / 4 + 100; ++at) broken[at] = '\xff';
  for (const std::string& changed : {bytes.substr(0, bytes.size() / 2), broken}) {
    write_bytes(path, changed);
    for (const char* const name : {"skip_record", "skip_file"}) {
      SCOPED_TRACE(name);
      const Remains left = remains_of(policy(path, '"' + std::string{name} + '"'));
      const Stats& stats = left.stats;
      const std::int64_t skips = stats.skipped_records + stats.skipped_ranges + stats.skipped_files;
      EXPECT_LE(skips, 4) << "the last record, garbage before the fault, and the rest";
      EXPECT_EQ(loss_in(path, name), skipped_of(skips, std::ssize(left.ids) + skips));
    }
  }
}

TEST(Budget, MaxFractionIsJudgedAlikeAfterARestart) {
  const Folder folder;
  write_bytes(folder.file("a"), equal_frames(400, 200, 100));
  write_bytes(folder.file("b"), equal_frames(400, 0, 100));
  const Json json =
      testing::document(folder.file("?"), R"({"interleave": {"cycle": 2}}, {"batch": {"size": 100}})",
                        R"(, "epochs": 2, "on_corrupt": {"policy": "skip_record", "max_fraction": 0.003})");
  auto unbroken = load(json);
  const std::vector<std::string> all = testing::rest(*unbroken);
  ASSERT_EQ(all.size(), 7U);
  EXPECT_THAT(all.back(), HasSubstr("2 of 602 records of the epoch were skipped"));
  for (std::int64_t batches = 0; batches < 6; ++batches) {
    auto pipeline = load(json);
    static_cast<void>(testing::rest(*pipeline, batches));
    auto again = testing::resumed(json, testing::kept(*pipeline));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(testing::rest(*again), std::vector<std::string>(all.begin() + batches, all.end()));
  }
}

TEST(Skipping, IsCountedWithTheFirstSixteenPlaces) {
  const Folder folder;
  const std::string path = write_corrupt(folder.file("a"), 100, 1, 5);
  const Stats stats = remains_of(policy(path, R"("skip_record")")).stats;
  EXPECT_EQ(stats.skipped_records, 20);
  EXPECT_EQ(stats.skipped_ranges, 0);
  EXPECT_EQ(stats.skipped_files, 0);
  std::int64_t bytes = 0;
  for (std::int64_t id = 0; id < 100; id += 5) bytes += static_cast<std::int64_t>(testing::example_of(id).size()) + 16;
  EXPECT_EQ(stats.skipped_bytes, bytes);
  ASSERT_EQ(stats.skipped.size(), 16U);
  for (std::int64_t i = 0; i < 16; ++i) {
    const Place& place = stats.skipped[static_cast<std::size_t>(i)].place();
    EXPECT_EQ(place.file, path);
    EXPECT_EQ(place.record, 5 * i);
  }
  EXPECT_THAT(stats.text(), HasSubstr("20"));
}

/// Good messages around one whose checksum is right and whose content is not.
std::string write_malformed(const std::string& path, const std::string& message) {
  std::vector<std::string> messages;
  for (std::int64_t id = 0; id < 6; ++id) messages.push_back(id == 3 ? message : testing::example_of(id));
  EXPECT_TRUE(write_records(path, messages).ok());
  return path;
}

TEST(Malformed, MessagesFallUnderThePolicy) {
  const ExampleMap good{{"id", Ids{3}}, {"x", std::vector<float>(4)}, {"name", std::vector<std::string>{"n"}}};
  const auto changed = [&](const std::string& name, const FeatureValue& value) {
    ExampleMap map = good;
    map[name] = value;
    return encode_example(map);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no message at all", "garbage"},
      {"a wrong kind", changed("id", std::vector<float>{1})},
      {"too few values", changed("x", std::vector<float>(3))},
      {"too many values", changed("x", std::vector<float>(5))},
      {"a missing feature", encode_example({{"id", Ids{3}}})}};
  for (const auto& [what, message] : cases) {
    SCOPED_TRACE(what);
    const Folder folder;
    const std::string path = write_malformed(folder.file("a"), message);
    for (const std::int64_t threads : {1, 3, 8}) {
      const Remains failed = remains_of(policy(path, R"("fail")"), threads);
      EXPECT_EQ(failed.ids, range(0, 3));
      ASSERT_TRUE(failed.error);
      EXPECT_EQ(failed.error->code(), Code::data);
      EXPECT_EQ(failed.error->place().record, 3);
      const Remains record = remains_of(policy(path, R"("skip_record")"), threads);
      EXPECT_EQ(record.ids, (Ids{0, 1, 2, 4, 5}));
      EXPECT_EQ(record.text(), "");
      ASSERT_EQ(record.stats.skipped.size(), 1U);
      EXPECT_EQ(record.stats.skipped[0].text(), failed.error->text()) << "the same words, skipped or not";
      EXPECT_EQ(record.stats.skipped_records, 1);
      const Remains file = remains_of(policy(path, R"("skip_file")"), threads);
      EXPECT_EQ(file.ids, range(0, 3));
      EXPECT_EQ(file.text(), "");
      EXPECT_EQ(file.stats.skipped_files, 1);
    }
  }
}

TEST(MissingFile, IsSkippedWithItsPlaceUnderSkipFileAndAFaultOtherwise) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 3);
  testing::write_examples(folder.file("c"), 6, 3);
  const std::string files = folder.file("a") + R"(", ")" + folder.file("b") + R"(", ")" + folder.file("c");
  for (const std::int64_t threads : {1, 3, 8}) {
    const Remains skipped = remains_of(policy(files, R"("skip_file")"), threads);
    EXPECT_EQ(skipped.ids, (Ids{0, 1, 2, 6, 7, 8}));
    EXPECT_EQ(skipped.text(), "");
    EXPECT_EQ(skipped.stats.skipped_files, 1);
    ASSERT_EQ(skipped.stats.skipped.size(), 1U);
    EXPECT_EQ(skipped.stats.skipped[0].place().file, folder.file("b"));
    for (const char* const other : {R"("fail")", R"("skip_record")"}) {
      const auto refused = load(policy(files, other));
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().detail(), Detail::not_found);
      EXPECT_THAT(refused.error().message(), HasSubstr(folder.file("b")));
      const Remains failed = remains_without(folder.file("b"), policy(files, other), threads);
      EXPECT_EQ(failed.ids, range(0, 3));
      ASSERT_TRUE(failed.error);
      EXPECT_EQ(failed.error->code(), Code::io);
      EXPECT_EQ(failed.error->detail(), Detail::not_found);
      EXPECT_THAT(failed.text(), HasSubstr(folder.file("b")));
    }
  }
}

TEST(MissingFile, IsSkippedWhereAllFilesAreIndexedFirst) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 3);
  testing::write_examples(folder.file("c"), 6, 3);
  const std::string files = folder.file("a") + R"(", ")" + folder.file("b") + R"(", ")" + folder.file("c");
  const auto shuffled = [&](const char* on_corrupt) {
    Remains seen = remains_of(policy(files, on_corrupt, R"({"shuffle": {"global": true}}, )"));
    std::sort(seen.ids.begin(), seen.ids.end());
    return seen;
  };
  const Remains skipped = shuffled(R"("skip_file")");
  EXPECT_EQ(skipped.ids, (Ids{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(skipped.text(), "");
  EXPECT_EQ(skipped.stats.skipped_files, 1);
  ASSERT_EQ(skipped.stats.skipped.size(), 1U);
  EXPECT_EQ(skipped.stats.skipped[0].place().file, folder.file("b"));
  const Json strict = policy(files, R"("skip_record")", R"({"shuffle": {"global": true}}, )");
  EXPECT_EQ(remains_without(folder.file("b"), strict).error->detail(), Detail::not_found);
  EXPECT_THAT(shuffled(R"({"policy": "skip_file", "max_count": 0})").text(), HasSubstr("max_count allows 0 skips"));
  testing::write_examples(folder.file("d"), 9, 3);
  const Json shared =
      testing::document(files + R"(", ")" + folder.file("d"), R"({"batch": {"size": 2, "remainder": "drop"}})",
                        R"(, "on_corrupt": "skip_file")");
  std::vector<Ids> shards(2);
  for (const std::int64_t index : {0, 1}) {
    auto pipeline = load(shared, {.shard_index = index, .shard_count = 2, .shard_by = ShardBy::file});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    auto batch = pipeline->next();
    for (; batch.ok() && *batch; batch = pipeline->next())
      shards[static_cast<std::size_t>(index)].push_back((*batch)->tensor("id").as<std::int64_t>()[0]);
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    EXPECT_EQ(pipeline->stats().skipped_files, index);
  }
  EXPECT_EQ(shards, (std::vector<Ids>{{0, 1, 2}, {9, 10, 11}})) << "a and c; b and d";
}

TEST(MissingFile, AFullBudgetMakesItAFaultAgain) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 3);
  const Remains seen =
      remains_of(policy(folder.file("a") + R"(", ")" + folder.file("b"), R"({"policy": "skip_file", "max_count": 0})"));
  EXPECT_EQ(seen.ids, range(0, 3));
  EXPECT_THAT(seen.text(), HasSubstr("on_corrupt.max_count allows 0 skips"));
}

TEST(Skipping, WithInterleaveAndShuffleIsTheSameForEveryThreadCount) {
  const Folder folder;
  for (int file = 0; file < 4; ++file) write_corrupt(folder.file("part-" + std::to_string(file)), 60, 1, 7 + file);
  std::ofstream{folder.file("part-1"), std::ios::binary | std::ios::app} << "tail";
  const std::string orders = R"({"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 16}}, )";
  for (const char* const json :
       {R"("skip_record")", R"("skip_file")", R"({"policy": "skip_record", "max_count": 20})"}) {
    SCOPED_TRACE(json);
    const Remains expected = remains_of(policy(folder.file("part-?"), json, orders), 1);
    for (const std::int64_t threads : {2, 3, 8}) {
      const Remains seen = remains_of(policy(folder.file("part-?"), json, orders), threads);
      EXPECT_EQ(seen.ids, expected.ids);
      EXPECT_EQ(seen.text(), expected.text());
      EXPECT_TRUE(expected.error || seen.stats.skipped.size() == expected.stats.skipped.size());
    }
  }
  const Remains all = remains_of(policy(folder.file("part-?"), R"("skip_record")", orders));
  EXPECT_EQ(all.ids.size(), 4 * 60U - 9 - 8 - 7 - 6);
  EXPECT_EQ(all.stats.skipped_records, 30);
  EXPECT_EQ(all.stats.skipped_ranges, 1);
}

}  // namespace
}  // namespace forebay
