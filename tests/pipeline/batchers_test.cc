// SPDX-License-Identifier: Apache-2.0
// Batches that are cut by the lengths of their elements. tests/pipeline/restarts.h has them, too, so that every test of
// restarts runs with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;
using testing::parse;

using Ids = std::vector<std::int64_t>;

Ids ids_of(const Batch& batch) {
  const Tensor& ids = batch.find("id")->values;
  const auto* const data = reinterpret_cast<const std::int64_t*>(ids.data);
  return {data, data + ids.count()};
}

/// Writes one record for each length, with so many tokens; their ids count from 0.
void write_lengths(const std::string& path, const std::vector<std::int64_t>& lengths) {
  std::vector<std::string> records;
  for (std::size_t id = 0; id < lengths.size(); ++id) {
    const auto number = static_cast<std::int64_t>(id);
    records.push_back(
        encode_example({{"id", std::vector<std::int64_t>{number}},
                        {"tokens", std::vector<std::int64_t>(static_cast<std::size_t>(lengths[id]), number)}}));
  }
  ASSERT_TRUE(write_records(path, records).ok());
}

Json of_lengths(const Folder& folder, const std::string& steps, const std::string& more = "") {
  return parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a") + R"("]}},
    "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
                                        "tokens": {"kind": "var_len", "dtype": "int64"}}}},
    "steps": [)" +
               steps + "]" + more + "}");
}

/// The ids of every batch, or the error as the text of a failure.
std::vector<Ids> batches_of(const Json& json, RunOptions options = {}) {
  std::vector<Ids> out;
  auto loader = load(json, options);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  if (!loader.ok()) return out;
  while (true) {
    const auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) return out;
    out.push_back(ids_of(**batch));
  }
}

TEST(Frames, OfAPassThatEndsInsideOfABatchGoOnWithTheNextPass) {
  const Folder folder;
  write_lengths(folder.file("a"), {5, 3, 8, 2, 9, 1});
  const std::string frames = R"({"frames": {"batch_size": 16}})";
  EXPECT_EQ(batches_of(of_lengths(folder, frames, R"(, "epochs": 2)")),
            (std::vector<Ids>{{0, 1}, {2, 3}, {4}, {5, 0, 1}, {2, 3}, {4}, {5}}));
  EXPECT_EQ(batches_of(of_lengths(folder, frames, R"(, "epochs": 2, "epoch_boundary": "hard")")),
            (std::vector<Ids>{{0, 1}, {2, 3}, {4}, {5}, {0, 1}, {2, 3}, {4}, {5}}));
}

TEST(Frames, WithoutAFrameAreLeftOut) {
  const Folder folder;
  write_lengths(folder.file("a"), {0, 0, 3, 0});
  EXPECT_EQ(batches_of(of_lengths(folder, R"({"frames": {"batch_size": 2}})")), (std::vector<Ids>{{2}}));
}

TEST(Frames, LeaveOutSequencesByLengthAndEndAPassAfterSoMany) {
  const Folder folder;
  write_lengths(folder.file("a"), {5, 3, 8, 2, 9, 4, 4});
  EXPECT_EQ(
      batches_of(of_lengths(
          folder,
          R"({"frames": {"max_seqs": 2, "min_seq_length": 3, "max_seq_length": {"tokens": 8}, "max_total_num_seqs": 3}})",
          R"(, "epochs": 2)")),
      (std::vector<Ids>{{0, 1}, {2, 0}, {1, 2}}));
}

TEST(Frames, OfAnEndlessRunThatNoSequenceFitsAreAnError) {
  const Folder folder;
  write_lengths(folder.file("a"), {5, 3});
  auto loader =
      load(of_lengths(folder, R"({"frames": {"batch_size": 9, "min_seq_length": 6}})", R"(, "epochs": null)"));
  ASSERT_TRUE(loader.ok());
  const auto batch = loader->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().text(), ::testing::HasSubstr("no element whose length the batches allow"));
}

TEST(Buckets, HoldElementsOverTheEndOfAPassAndFlushThemAtTheEndOfTheRun) {
  const Folder folder;
  write_lengths(folder.file("a"), {1, 5, 3, 7, 6, 2, 1});
  const std::string buckets =
      R"({"buckets": {"key": "tokens", "boundaries": [3, 6], "sizes": [3, 2], "longer": "drop"}})";
  EXPECT_EQ(batches_of(of_lengths(folder, buckets, R"(, "epochs": 2)")),
            (std::vector<Ids>{{1, 4}, {0, 2, 5}, {6, 0, 2}, {1, 4}, {5, 6}}));
  EXPECT_EQ(batches_of(of_lengths(folder, buckets, R"(, "epochs": 2, "epoch_boundary": "hard")")),
            (std::vector<Ids>{{1, 4}, {0, 2, 5}, {6}, {1, 4}, {0, 2, 5}, {6}}));
}

/// The buckets of which one holds its elements for many passes: a restart goes back to the pass of the oldest.
TEST(Buckets, WithARareLengthAreRestoredAtEveryBatch) {
  const Folder folder;
  write_lengths(folder.file("a"), {1, 9, 1, 2, 1, 2, 2});
  const Json json = of_lengths(folder, R"({"buckets": {"key": "tokens", "boundaries": [1, 2, 9], "sizes": [4, 5, 6]}})",
                               R"(, "epochs": 14)");
  auto whole = load(json);
  ASSERT_TRUE(whole.ok());
  const auto [batches, states] = testing::whole_run(*whole);
  EXPECT_EQ(batches.size(), 23U);
  for (std::size_t at = 0; at < states.size(); ++at) {
    auto again = testing::resumed(json, states[at], {.threads = static_cast<std::int64_t>(1 + at % 3)});
    ASSERT_TRUE(again.ok()) << at << " " << again.error().text();
    EXPECT_EQ(testing::kept(*again), states[at]) << at;
    EXPECT_EQ(testing::rest(*again),
              std::vector<std::string>(batches.begin() + static_cast<std::ptrdiff_t>(at), batches.end()))
        << at;
  }
}

TEST(Buckets, ThatAreFlushedAtTheEndOfARunRefuseALongerOne) {
  const Folder folder;
  write_lengths(folder.file("a"), {1, 5, 3, 7, 6, 2, 1});
  const auto json = [&](int epochs) {
    return of_lengths(folder, R"({"buckets": {"key": "tokens", "boundaries": [3, 9], "sizes": [5, 4]}})",
                      R"(, "epochs": )" + std::to_string(epochs));
  };
  auto loader = load(json(1));
  ASSERT_EQ(ids_of(**loader->next()), (Ids{0, 2, 5, 6}));
  const Json state = testing::kept(*loader);
  EXPECT_EQ(testing::resumed(json(1), state)->next()->has_value(), true);
  const auto longer = testing::resumed(json(2), state);
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.error().text(), ::testing::HasSubstr("among the last batches of a run of 1 epochs"));
}

TEST(MeasuredBatches, HaveOneShapeOnAllShardsByRow) {
  const Folder folder;
  write_lengths(folder.file("a"), {5, 3, 8, 2, 9, 1, 4, 4, 1});
  for (const char* const steps : {R"({"frames": {"batch_size": 24}})",
                                  R"({"buckets": {"key": "tokens", "boundaries": [4, 9], "sizes": [2, 3]}})"}) {
    const Json json = of_lengths(folder, steps);
    auto whole = load(json);
    std::vector<Loader> shards;
    for (std::int64_t index = 0; index < 4; ++index)
      shards.push_back(*load(json, {.threads = 1, .shard_index = index, .shard_count = 4}));
    while (true) {
      const auto all = *whole->next();
      Ids got;
      for (Loader& shard : shards) {
        const auto part = *shard.next();
        ASSERT_EQ(part.has_value(), all.has_value());
        if (!all) continue;
        EXPECT_EQ(part->find("tokens")->values.shape[1], all->find("tokens")->values.shape[1]);
        const Ids rows = ids_of(*part);
        got.insert(got.end(), rows.begin(), rows.end());
      }
      if (!all) break;
      EXPECT_EQ(got, ids_of(*all));
    }
  }
}

TEST(MeasuredBatches, OfNoRecordsAreNone) {
  const Folder folder;
  write_lengths(folder.file("a"), {});
  for (const char* const steps :
       {R"({"frames": {"batch_size": 24}})", R"({"buckets": {"key": "tokens", "boundaries": [4, 9], "sizes": [2, 3]}})",
        R"({"batch": {"size": 3}}, {"shuffle_batches": {"buffer": 5}})"}) {
    for (const char* const boundary : {"straddle", "hard"}) {
      const std::string more = R"(, "epochs": 3, "epoch_boundary": ")" + std::string{boundary} + "\"";
      EXPECT_EQ(batches_of(of_lengths(folder, steps, more)), std::vector<Ids>{});
    }
  }
}

TEST(MeasuredBatches, NameTheirFaults) {
  const Folder folder;
  write_lengths(folder.file("a"), {1});
  const auto fault = [&](const std::string& steps) {
    const auto plan = Plan::make(of_lengths(folder, steps));
    return plan.ok() ? std::string{} : plan.error().text();
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(fault(R"({"frames": {}})"), HasSubstr("nothing limits a batch"));
  EXPECT_THAT(fault(R"({"frames": {"batch_size": 0}})"), HasSubstr("/steps/0/frames/batch_size: must be at least 1"));
  EXPECT_THAT(fault(R"({"frames": {"batch_size": {"token": 3}}})"),
              HasSubstr("'token' is not one of the tensors whose frames count"));
  EXPECT_THAT(fault(R"({"frames": {"batch_size": 1, "keys": ["id"]}})"), HasSubstr("no first axis to count"));
  EXPECT_THAT(fault(R"({"buckets": {"key": "id", "boundaries": [1], "sizes": [1]}})"), HasSubstr("has no length"));
  EXPECT_THAT(fault(R"({"buckets": {"key": "tokens", "boundaries": [], "sizes": [1]}})"), HasSubstr("found 0"));
  EXPECT_THAT(fault(R"({"buckets": {"key": "tokens", "boundaries": [3, 2], "sizes": [1]}})"), HasSubstr("ascending"));
  EXPECT_THAT(fault(R"({"buckets": {"key": "tokens", "boundaries": [2, 3], "sizes": [1, 2, 3]}})"),
              HasSubstr("one for each of the 2 buckets; found 3"));
}

// ---------------------------------------------------------------- orders on batches

Json in_batches(const Folder& folder, const std::string& steps, const std::string& more = "") {
  return of_lengths(folder, R"({"batch": {"size": 2}}, )" + steps, more);
}

TEST(ShuffleBatches, ShufflesEachBlockAndKeepsRowsTogether) {
  const Folder folder;
  write_lengths(folder.file("a"), std::vector<std::int64_t>(22));
  const auto batches = batches_of(in_batches(folder, R"({"shuffle_batches": {"buffer": 4}})", R"(, "seed": 3)"));
  std::vector<Ids> sorted = batches;
  for (std::size_t block = 0; block < 11; block += 4)
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(block),
              sorted.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(11, block + 4)));
  EXPECT_EQ(sorted, batches_of(of_lengths(folder, R"({"batch": {"size": 2}})")));
  EXPECT_NE(batches, sorted);
  EXPECT_NE(batches, batches_of(in_batches(folder, R"({"shuffle_batches": {"buffer": 4}})", R"(, "seed": 4)")));
}

TEST(BatchSlice, CountsInEachHardEpochAndElseOverTheRun) {
  const Folder folder;
  write_lengths(folder.file("a"), std::vector<std::int64_t>(6));
  const std::string slice = R"({"batch_slice": {"start": 1, "step": 2}})";
  EXPECT_EQ(batches_of(in_batches(folder, slice, R"(, "epochs": 2)")), (std::vector<Ids>{{2, 3}, {0, 1}, {4, 5}}));
  EXPECT_EQ(batches_of(in_batches(folder, slice, R"(, "epochs": 2, "epoch_boundary": "hard")")),
            (std::vector<Ids>{{2, 3}, {2, 3}}));
}

TEST(BatchSlice, EndsAnEndlessRunAtItsStop) {
  const Folder folder;
  write_lengths(folder.file("a"), std::vector<std::int64_t>(6));
  EXPECT_EQ(batches_of(in_batches(folder, R"({"batch_slice": {"start": 2, "stop": 4}})", R"(, "epochs": null)")),
            (std::vector<Ids>{{4, 5}, {0, 1}}));
}

TEST(BatchSlice, ThatPicksNothingInAnEndlessRunIsAnError) {
  const Folder folder;
  write_lengths(folder.file("a"), std::vector<std::int64_t>(6));
  auto loader =
      load(in_batches(folder, R"({"batch_slice": {"start": 9}})", R"(, "epochs": null, "epoch_boundary": "hard")"));
  const auto batch = loader->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().text(), ::testing::HasSubstr("no batch that an order on batches picks"));
}

TEST(BatchOrders, NumberTheBatchesThatTheyDeliver) {
  const Folder folder;
  write_lengths(folder.file("a"), std::vector<std::int64_t>(12));
  auto loader = load(in_batches(folder, R"({"batch_slice": {"index": 1, "count": 2}})"));
  for (std::int64_t number = 0; number < 3; ++number) EXPECT_EQ((**loader->next()).number(), number);
  auto again = testing::resumed(in_batches(folder, R"({"batch_slice": {"index": 1, "count": 2}})"), [&] {
    auto first = load(in_batches(folder, R"({"batch_slice": {"index": 1, "count": 2}})"));
    EXPECT_TRUE(first->next().ok());
    return testing::kept(*first);
  }());
  ASSERT_TRUE(again.ok());
  const Batch second = **again->next();
  EXPECT_EQ(second.number(), 1);
  EXPECT_EQ(ids_of(second), (Ids{6, 7}));
}

TEST(BatchPositions, AreWrittenAsSectionsAndReadAgain) {
  const engine::Position at{.epoch = 2,
                            .batch = 5,
                            .next = 9,
                            .from = 2,
                            .begun = 1,
                            .done = 7,
                            .carried = {3, 0, 12},
                            .ended = 4,
                            .blocks = {{.first = 8, .given = 3}, {.first = 2, .given = 1}},
                            .delivered = 11};
  const std::vector<engine::Section> sections = engine::sections_of(at);
  EXPECT_EQ(*engine::position_of(sections), at);
  const auto refusal = [&](std::size_t section, std::vector<std::pair<std::string, std::int64_t>> values) {
    std::vector<engine::Section> changed = sections;
    changed[section].values = std::move(values);
    return engine::position_of(changed).error().message();
  };
  EXPECT_EQ(refusal(1, {{"ended", 0}}), "corrupt state: section 'batcher' says nothing");
  EXPECT_EQ(refusal(1, {{"ended", 0}, {"1", 3}}), "corrupt state: '0' must be an integer, found nothing");
  EXPECT_EQ(refusal(2, {{"delivered", 3}}), "corrupt state: section 'batches' says nothing");
  EXPECT_EQ(refusal(2, {{"delivered", 3}, {"first_0", 1}, {"given_1", 1}}),
            "corrupt state: 'given_0' must be an integer, found nothing");
}

TEST(BatchOrders, StandAfterTheStepThatCutsBatches) {
  const Folder folder;
  write_lengths(folder.file("a"), {1});
  const auto plan = Plan::make(of_lengths(folder, R"({"shuffle_batches": {"buffer": 4}}, {"batch": {"size": 2}})"));
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().text(), ::testing::HasSubstr("must come after the step that cuts them"));
}

}  // namespace
}  // namespace forebay
