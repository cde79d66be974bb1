// SPDX-License-Identifier: Apache-2.0
// Shards by batch and by element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <forebay/forebay.h>

#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;
using ::testing::HasSubstr;
using testing::kept;
using testing::rest;
using testing::resumed;
using testing::write_five;
using DealtLines = std::vector<std::string>;

RunOptions by_batch(std::int64_t index, std::int64_t count, std::int64_t threads = 1) {
  return {.threads = threads, .shard_index = index, .shard_count = count, .shard_by = ShardBy::batch};
}
RunOptions by_element(std::int64_t index, std::int64_t count, std::int64_t threads = 1) {
  return {.threads = threads, .shard_index = index, .shard_count = count, .shard_by = ShardBy::element};
}

DealtLines dealt_lines(const Json& json, const RunOptions& options = {}) {
  auto loader = load(json, options);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  return rest(*loader);
}

TEST(ShardsByBatch, InTurnGiveTheStreamOfOneProcess) {
  const Folder folder;
  write_five(folder);
  for (const std::string& boundary : testing::boundaries()) {
    for (const std::string& steps : testing::orders()) {
      const Json json = document(folder.file("part-?.tfrecord"), steps, boundary);
      const DealtLines whole = dealt_lines(json);
      for (const std::int64_t threads : {1, 8}) {
        DealtLines together(whole.size());
        for (std::int64_t index = 0; index < 3; ++index) {
          const DealtLines part = dealt_lines(json, by_batch(index, 3, threads));
          for (std::size_t i = 0; i < part.size(); ++i) together[3 * i + static_cast<std::size_t>(index)] = part[i];
          ASSERT_EQ(part.size(), (whole.size() - static_cast<std::size_t>(index) + 2) / 3);
        }
        ASSERT_EQ(together, whole) << steps << boundary;
      }
    }
  }
}

// Batch k is worker k mod `workers`'s. The state after it fits any number of workers.
TEST(ShardsByBatch, RestartAtEveryBatchWithAnotherNumberOfThem) {
  const Folder folder;
  write_five(folder);
  for (const std::string& boundary : testing::boundaries()) {
    const Json json =
        document(folder.file("part-?.tfrecord"),
                 R"({"shuffle": {"buffer": 40}}, {"batch": {"size": 24, "remainder": "drop"}})", boundary);
    const DealtLines whole = dealt_lines(json);
    std::vector<Loader> workers;
    for (std::int64_t index = 0; index < 2; ++index) workers.push_back(*load(json, by_batch(index, 2)));
    for (std::size_t at = 0; at < whole.size(); ++at) {
      ASSERT_EQ(rest(workers[at % 2], 1), DealtLines{whole[at]});
      const Json state = kept(workers[at % 2]);
      for (std::int64_t index = 0; index < 3; ++index) {
        DealtLines expected;
        for (std::size_t i = at + 1; i < whole.size(); ++i) {
          if (static_cast<std::int64_t>(i) % 3 == index) expected.push_back(whole[i]);
        }
        auto other = resumed(json, state, by_batch(index, 3, 8));
        ASSERT_TRUE(other.ok()) << other.error().text();
        ASSERT_EQ(rest(*other), expected) << at;
      }
    }
  }
}

TEST(ShardsByBatch, StandBesideEveryOtherKind) {
  const Folder folder;
  write_five(folder);
  const Json json = document(folder.file("part-?.tfrecord"), R"({"shuffle": {"global": true}}, {"batch": {"size": 12,
                             "remainder": "repeat"}})",
                             R"(, "epochs": 2)");
  for (const ShardBy by : {ShardBy::row, ShardBy::file, ShardBy::element}) {
    for (std::int64_t index = 0; index < 2; ++index) {
      RunOptions options{.shard_index = index, .shard_count = 2, .shard_by = by};
      const DealtLines whole = dealt_lines(json, options);
      ASSERT_GT(whole.size(), 10U);
      DealtLines together(whole.size());
      options.batch_count = 4;
      for (std::size_t worker = 0; worker < 4; ++worker) {
        options.batch_index = static_cast<std::int64_t>(worker);
        const DealtLines part = dealt_lines(json, options);
        for (std::size_t i = 0; i < part.size(); ++i) together[4 * i + worker] = part[i];
      }
      EXPECT_EQ(together, whole);
    }
  }
}

// The epochs of a worker: those of its batches.
TEST(ShardsByBatch, HaveTheEpochsOfTheRun) {
  const Folder folder;
  write_five(folder);
  const Json json = document(folder.file("part-?.tfrecord"), R"({"batch": {"size": 100}})",
                             R"(, "epochs": 3, "epoch_boundary": "hard")");
  auto loader = load(json, by_batch(1, 8));  // 4 batches an epoch: batches 1 and 9 of 12
  std::vector<std::vector<std::int64_t>> numbers;
  for (Epoch& epoch : loader->epochs()) {
    numbers.emplace_back();
    for (const Batch& batch : epoch) numbers.back().push_back(batch.number());
  }
  EXPECT_EQ(numbers, (std::vector<std::vector<std::int64_t>>{{1}, {}, {9}}));
  EXPECT_EQ(loader->complete_frac(), 1.0);
}

// Nothing of the other shards' batches is decoded: the bytes of their records are wrong, and nothing notices.
TEST(ShardsByBatch, DoNotDecodeTheBatchesOfOthers) {
  const Folder folder;
  std::vector<std::string> messages;
  for (int i = 0; i < 40; ++i) messages.push_back(i / 10 % 2 == 0 ? testing::example_of(i) : "no message");
  ASSERT_TRUE(write_records(folder.file("data"), messages, Compression::none).ok());
  const Json json = document(folder.file("data"), R"({"batch": {"size": 10}})");
  EXPECT_EQ(dealt_lines(json, by_batch(0, 2)).size(), 2U);
  EXPECT_THAT(dealt_lines(json, by_batch(1, 2)).front(), HasSubstr("error: "));
}

TEST(ShardsByBatch, CannotBeDealtTwiceOrWithoutAnOrder) {
  const Folder folder;
  write_five(folder);
  const std::string files = folder.file("part-?.tfrecord");
  RunOptions twice = by_batch(0, 2);
  twice.batch_count = 2;
  auto loader = load(document(files, R"({"batch": {"size": 12}})"), twice);
  ASSERT_FALSE(loader.ok());
  EXPECT_THAT(loader.error().text(), HasSubstr("two shards are by batch"));
  loader = load(document(files, R"({"batch": {"size": 12}})", R"(, "deterministic": false)"), by_batch(0, 2));
  ASSERT_FALSE(loader.ok());
  EXPECT_THAT(loader.error().text(), HasSubstr("the batches must be the same everywhere"));
  RunOptions beyond;
  beyond.batch_index = 2;
  beyond.batch_count = 2;
  loader = load(document(files, R"({"batch": {"size": 12}})"), beyond);
  ASSERT_FALSE(loader.ok());
  EXPECT_THAT(loader.error().text(), HasSubstr("found (2, 2)"));
}

/// The ids of a run, row by row, and the rows of each batch.
struct DealtRows {
  std::vector<std::int64_t> ids, rows, epochs;
};
DealtRows dealt_rows(const Json& json, const RunOptions& options) {
  DealtRows out;
  auto loader = load(json, options);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  for (const Batch& batch : loader->batches()) {
    const auto ids = batch.tensor("id").as<std::int64_t>();
    out.ids.insert(out.ids.end(), ids.begin(), ids.begin() + batch.valid_rows());
    out.rows.push_back(batch.rows());
    out.epochs.push_back(batch.epoch());
  }
  EXPECT_TRUE(loader->status().ok()) << loader->status().error().text();
  return out;
}

/// What shard `index` of `count` gets of a pass, element by element.
std::vector<std::int64_t> dealt(const std::vector<std::int64_t>& pass, std::size_t index, std::size_t count,
                                const std::string& remainder) {
  std::vector<std::int64_t> out;
  for (std::size_t first = 0; first < pass.size(); first += count) {
    const std::size_t round = std::min(count, pass.size() - first);
    if (round < count && remainder == "drop") break;
    const std::size_t mine = remainder == "repeat" ? index % round : index;
    if (mine < round) out.push_back(pass[first + mine]);
  }
  return out;
}

TEST(ShardsByElement, DealTheElementsOfEveryPassAndHaveAsManyBatches) {
  const Folder folder;
  write_five(folder);  // 306 records
  const std::string files = folder.file("part-?.tfrecord");
  for (const std::string order :
       {R"()", R"({"shuffle": {"buffer": 40}},)", R"({"shuffle": {"global": true}},)",
        R"({"filter": {"where": "id % 5 != 2"}}, {"shuffle": {"buffer": 30}},)", R"({"take": {"count": 2}},)"}) {
    for (const std::string remainder : {"drop", "repeat", "pad"}) {
      const std::string more = R"(, "epochs": 3, "seed": 4, "epoch_boundary": "hard")";
      const auto with = [&](int size, const std::string& how) {
        return document(files,
                        order + R"({"batch": {"size": )" + std::to_string(size) + R"(, "remainder": ")" + how + "\"}}",
                        more);
      };
      const DealtRows whole = dealt_rows(with(1, "keep"), {});
      std::vector<std::int64_t> rows;
      for (std::int64_t index = 0; index < 4; ++index) {
        for (const std::int64_t threads : {1, 8}) {
          const DealtRows part = dealt_rows(with(20, remainder), by_element(index, 4, threads));
          if (index == 0 && threads == 1) rows = part.rows;
          ASSERT_EQ(part.rows, rows) << "as many batches in every shard: " << order << remainder;
          std::vector<std::int64_t> expected;
          for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
            std::vector<std::int64_t> pass;
            for (std::size_t i = 0; i < whole.ids.size(); ++i)
              if (whole.epochs[i] == epoch) pass.push_back(whole.ids[i]);
            auto own = dealt(pass, static_cast<std::size_t>(index), 4, remainder);
            if (remainder == "drop") own.resize(own.size() / 5 * 5);
            const std::size_t full = own.size();
            if (remainder == "repeat" && full % 5 != 0) {
              for (std::size_t i = 0; own.size() % 5 != 0; ++i) own.push_back(own[full / 5 * 5 + i]);
            }
            expected.insert(expected.end(), own.begin(), own.end());
          }
          ASSERT_EQ(part.ids, expected) << order << remainder << index;
        }
      }
    }
  }
}

TEST(ShardsByElement, RestartAtEveryBatchWithTheStateOfAnyOfThem) {
  const Folder folder;
  write_five(folder);
  for (const std::string& boundary : testing::boundaries()) {
    for (const char* order : {R"({"shuffle": {"buffer": 40}})", R"({"shuffle": {"global": true}})",
                              R"({"filter": {"where": "id % 5 != 2"}})"}) {
      const Json json = document(folder.file("part-?.tfrecord"),
                                 std::string{order} + R"(, {"batch": {"size": 36, "remainder": "drop"}})", boundary);
      const DealtLines zero = dealt_lines(json, by_element(0, 3));
      const DealtLines one = dealt_lines(json, by_element(1, 3));
      auto first = load(json, by_element(0, 3));
      for (std::size_t at = 0; at < zero.size(); ++at) {
        ASSERT_EQ(rest(*first, 1), DealtLines{zero[at]});
        auto other = resumed(json, kept(*first), by_element(1, 3, 8));
        ASSERT_TRUE(other.ok()) << other.error().text();
        ASSERT_EQ(rest(*other), DealtLines(one.begin() + static_cast<std::ptrdiff_t>(at) + 1, one.end()));
      }
    }
  }
}

TEST(ShardsByElement, AStateFitsTheSameNumberOnlyAndSaysSo) {
  const Folder folder;
  write_five(folder);
  const Json json = document(folder.file("part-?.tfrecord"), R"({"batch": {"size": 12, "remainder": "drop"}})");
  auto saved = load(json, by_element(0, 2));
  ASSERT_TRUE(saved->next().ok());
  const Json state = kept(*saved);
  const RunOptions by_file{.shard_index = 0, .shard_count = 2, .shard_by = ShardBy::file};
  for (const RunOptions& options : {by_element(0, 3), RunOptions{}, by_file}) {
    const auto other = resumed(json, state, options);
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().text(), HasSubstr("the state was saved by a run of 2 shards by element, and this is one "
                                                "of "));
  }
  auto one_file = load(json, by_file);
  ASSERT_TRUE(one_file->next().ok());
  const auto misfit = resumed(json, kept(*one_file), by_element(1, 2));
  ASSERT_FALSE(misfit.ok());
  EXPECT_THAT(misfit.error().text(), HasSubstr("2 shards by file, and this is one of 2 shards by element"));
  auto all_batches = load(json);
  const auto batch = all_batches->next();
  EXPECT_FALSE(saved->state(**batch).ok());
}

TEST(ShardsByElement, OfBatchesThatCannotBeEqualAreRefused) {
  const Folder folder;
  write_five(folder);
  const std::string files = folder.file("part-?.tfrecord");
  const auto refusal = [&](const std::string& batch, const std::string& more) {
    const auto loader = load(document(files, batch, more), by_element(0, 2));
    return loader.ok() ? "" : loader.error().text();
  };
  EXPECT_THAT(refusal(R"({"batch": {"size": 12}})", ""), HasSubstr("shards by element have unequal numbers"));
  EXPECT_THAT(refusal(R"({"batch": {"size": 12, "remainder": "pad"}})", R"(, "epochs": 2)"),
              HasSubstr("set `epoch_boundary` to hard"));
  EXPECT_THAT(refusal(R"({"batch": {"size": 13, "remainder": "drop"}})", ""), HasSubstr("cannot be divided"));
  EXPECT_THAT(refusal(R"({"batch": {"size": 12, "remainder": "drop"}})", R"(, "deterministic": false)"),
              HasSubstr("the order of the elements must be the same everywhere"));
}

/// A run over 103 rows in memory. Returns the length that was promised, and checks it.
std::int64_t length_of(const std::string& steps, const std::string& more, const RunOptions& options) {
  std::vector<std::int64_t> n(103);
  std::iota(n.begin(), n.end(), 0);
  const Bindings rows{
      {"in", *array_rows({{.name = "n", .dtype = DType::int64, .shape = {103}, .data = n.data()}}, nullptr)}};
  auto loader = load(testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [)" + steps + "]" + more + "}"),
                     options, ".", rows);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  const auto length = loader->length();
  EXPECT_EQ(std::ssize(rest(*loader)), length.value_or(-1)) << steps << more;
  return length.value_or(-1);
}

TEST(DealtShards, OfRowsInMemoryKnowTheirLength) {
  for (const std::string more : {R"()", R"(, "epochs": 3)", R"(, "epochs": 3, "epoch_boundary": "hard")"}) {
    for (std::int64_t index = 0; index < 4; ++index) {
      for (const std::string remainder : {"drop", "repeat", "pad"}) {
        if (remainder == "pad" && more == R"(, "epochs": 3)") continue;
        const std::string steps =
            R"({"shuffle": {"global": true}}, {"batch": {"size": 12, "remainder": ")" + remainder + "\"}}";
        EXPECT_GT(length_of(steps, more, by_batch(index, 4)), 0);
        EXPECT_GT(length_of(steps, more, by_element(index, 4)), 0);
        RunOptions both = by_element(index, 4);
        both.batch_index = 1;
        both.batch_count = 3;
        EXPECT_GT(length_of(steps, more, both), 0);
      }
    }
  }
}

}  // namespace
}  // namespace forebay
