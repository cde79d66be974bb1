// SPDX-License-Identifier: Apache-2.0
// Batches whose rows follow sequences, and the states that a program saves for them. tests/pipeline/restarts.h has such
// batches without states, so that every test of restarts runs with them.
#include <map>

#include "tests/pipeline/stateful_runs.h"
#include "tests/pipeline/tensors_json.h"

namespace forebay {
namespace {

using stateful_runs::sequences_document;
using stateful_runs::StatefulRuns;
using stateful_runs::tensor_of;
using stateful_runs::train;
using stateful_runs::trained;
using stateful_runs::TrainedLines;
using stateful_runs::write_sequences;
using testing::Folder;
using ::testing::HasSubstr;
using testing::kept;

TEST_F(StatefulRuns, StatesOfRowsAreThoseOfTheirSequences) {
  for (const std::int64_t threads : {1, 8}) {
    std::map<std::int64_t, std::int64_t> sums;  // of each sequence, after its segments so far
    std::map<std::int64_t, std::int64_t> next;  // segment
    auto loader = load(document(), {.threads = threads});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    for (Batch& batch : loader->batches()) {
      ASSERT_EQ(batch.rows(), 4);
      const auto before = batch.state("sum");
      ASSERT_TRUE(before.ok()) << before.error().text();
      std::vector<std::int64_t> after;
      for (std::int64_t row = 0; row < 4; ++row) {
        after.push_back(before->as<std::int64_t>()[static_cast<std::size_t>(row)]);
        const auto spans = batch.spans(row);
        if (spans.empty()) {
          EXPECT_EQ(after.back(), 1000) << "an empty row has the initial state";
          continue;
        }
        const std::int64_t sequence = spans[0].origin.record;
        EXPECT_EQ(spans[0].origin.window, next[sequence]++);
        EXPECT_EQ(after.back(), 1000 + sums[sequence]);
        for (std::int64_t f = 0; f < spans[0].length; ++f) sums[sequence] += 100 * sequence + spans[0].origin.start + f;
        after.back() = 1000 + sums[sequence];
      }
      std::vector<float> seen(8);
      ASSERT_TRUE(batch.save_state("sum", tensor_of(after)).ok());
      ASSERT_TRUE(batch.save_state("seen", tensor_of(seen)).ok());
    }
    ASSERT_TRUE(loader->status().ok()) << loader->status().error().text();
    ASSERT_EQ(sums.size(), 23U);
    for (const auto& [sequence, sum] : sums) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
      EXPECT_EQ(sum, 100 * sequence * length + length * (length - 1) / 2);
      EXPECT_EQ(next[sequence], (length + 2) / 3);
    }
  }
}

// SQ-1 of the specification: two sequences of 3 frames, in segments of 2.
TEST(StatefulBatches, GetInTheirSecondStepWhatWasSavedInTheFirst) {
  const Folder folder;
  write_sequences(folder.file("a"), {3, 3});
  auto loader = load(sequences_document(
      folder,
      R"({"unroll": {"num_unroll": 2}}, {"stateful": {"batch_size": 2, "states": {"h": {"dtype": "int64"}}}})"));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const Batch first = **loader->next();
  std::vector<std::int64_t> saved{1, -1};
  EXPECT_EQ(first.state("h")->as<std::int64_t>()[0], 0);
  ASSERT_TRUE(first.save_state("h", tensor_of(saved)).ok());
  const Batch second = **loader->next();
  const Tensor h = *second.state("h");
  EXPECT_EQ((std::vector<std::int64_t>{h.as<std::int64_t>().begin(), h.as<std::int64_t>().end()}), saved);
  for (std::int64_t row = 0; row < 2; ++row) {
    EXPECT_EQ(first.spans(row)[0].length, 2);
    EXPECT_EQ(second.spans(row)[0].length, 1);
    EXPECT_EQ(second.spans(row)[0].origin.window, 1);
  }
  const auto end = loader->next();
  EXPECT_TRUE(end.ok() && !*end);
}

// SQ-2 of the specification: the last segment is padded to `num_unroll`.

TEST(StatefulBatches, PadTheLastSegmentAndTheRowsWithoutASequence) {
  const Folder folder;
  write_sequences(folder.file("a"), {4, 1});
  auto loader = load(sequences_document(folder, R"({"unroll": {"num_unroll": 3}}, {"stateful": {"batch_size": 2}})"));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  TrainedLines got;
  for (Batch& batch : loader->batches())
    got.push_back(testing::to_json(*batch.find("x")).text() + " " + std::to_string(batch.valid_rows()));
  EXPECT_EQ(got, (TrainedLines{"[[0,1,2],[100,0,0]] 2", "[[3,0,0],[0,0,0]] 1"}));
}

TEST_F(StatefulRuns, TheStreamDoesNotDependOnThreads) {
  for (const char* const more : {"", R"(, "epochs": 3)", R"(, "epochs": 3, "epoch_boundary": "hard")"}) {
    auto one = load(document(more), {.threads = 1});
    auto eight = load(document(more), {.threads = 8, .prefetch = 5});
    const TrainedLines lines = trained(*one);
    ASSERT_GT(lines.size(), 10U);
    EXPECT_THAT(lines.back(), Not(HasSubstr("error")));
    EXPECT_EQ(trained(*eight), lines);
  }
}

TEST_F(StatefulRuns, ARestartAtEveryBatchGoesOnWithTheStates) {
  for (const char* const more : {R"(, "epochs": 3)", R"(, "epochs": 3, "epoch_boundary": "hard")"}) {
    for (const char* const shuffle : {R"({"shuffle": {"buffer": 9}})", R"({"shuffle": {"global": true}})"}) {
      const Json json = document(more, shuffle);
      auto loader = load(json, {.threads = 2});
      ASSERT_TRUE(loader.ok()) << loader.error().text();
      std::vector<Json> states{kept(*loader)};
      TrainedLines lines;
      for (TrainedLines next = trained(*loader, 1); !next.empty(); next = trained(*loader, 1)) {
        lines.push_back(next.front());
        states.push_back(kept(*loader));
      }
      ASSERT_GT(lines.size(), 20U);
      for (std::size_t at = 0; at < states.size(); ++at) {
        SCOPED_TRACE(at);
        auto again = testing::resumed(json, states[at], {.threads = static_cast<std::int64_t>(1 + at % 3)});
        ASSERT_TRUE(again.ok()) << again.error().text();
        EXPECT_EQ(kept(*again), states[at]) << "a restart that nothing was taken from stands where it stood";
        ASSERT_EQ(trained(*again), TrainedLines(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end()));
      }
    }
  }
}

TEST_F(StatefulRuns, AStateStandsBeforeTheFirstBatchWhoseStatesAreNotAllSaved) {
  const Json json = document();
  auto loader = load(json);
  const TrainedLines first = trained(*loader, 3);
  const Json before = kept(*loader);
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch);
  EXPECT_EQ(kept(*loader), before);
  EXPECT_EQ(*loader->state(**batch), before);
  std::vector<std::int64_t> sums(4);
  ASSERT_TRUE((*batch)->save_state("sum", tensor_of(sums)).ok());
  EXPECT_EQ(kept(*loader), before) << "'seen' is not saved";
  const auto ahead = loader->next();
  EXPECT_EQ(kept(*loader), before);
  std::vector<float> seen(8);
  ASSERT_TRUE((*batch)->save_state("seen", tensor_of(seen)).ok());
  EXPECT_NE(kept(*loader), before);
  EXPECT_EQ(kept(*loader), *loader->state(**batch)) << "the batch that was read ahead is not used yet";
  EXPECT_EQ(kept(*loader), *loader->state(**ahead));
}

TEST_F(StatefulRuns, ABatchThatWasReadAheadIsAskedWhenTheStatesBeforeItAreSaved) {
  auto loader = load(document());
  auto reference = load(document());
  const TrainedLines lines = trained(*reference, 6);
  std::vector<Batch> ahead;
  for (int i = 0; i < 6; ++i) ahead.push_back(**loader->next());
  const auto early = ahead[1].state("sum");
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code(), Code::state);
  EXPECT_THAT(early.error().text(), HasSubstr("state 'sum' of batch 1: it was not saved after batch 0"));
  EXPECT_THAT(early.error().text(), HasSubstr(folder_.file("a") + ":"));
  for (std::size_t i = 0; i < ahead.size(); ++i) EXPECT_EQ(train(ahead[i]), lines[i]);
  const auto late = ahead[3].state("sum");
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().text(), HasSubstr("replaced by the states of a later batch"));
  const auto gone = loader->state(ahead[2]);
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().text(), HasSubstr("the states after batch 2 are gone: those after batch 5"));
  std::vector<std::int64_t> sums(4);
  const auto old = ahead[2].save_state("sum", tensor_of(sums));
  ASSERT_FALSE(old.ok());
  EXPECT_THAT(old.error().text(), HasSubstr("states of batch 5 were saved already"));
}

TEST_F(StatefulRuns, ARunThatIsLengthenedAtItsEndGoesOnWithTheNextEpochAndSaysSo) {
  auto loader = load(document());
  const TrainedLines first = trained(*loader);
  auto longer = testing::resumed(document(R"(, "epochs": 2)"), kept(*loader));
  ASSERT_TRUE(longer.ok()) << longer.error().text();
  EXPECT_THAT(longer->notice(), HasSubstr("goes on with the first record of epoch 1"));
  const auto batch = longer->next();
  ASSERT_TRUE(batch.ok() && *batch);
  EXPECT_EQ((*batch)->epoch(), 1);
  EXPECT_EQ((*batch)->number(), std::ssize(first));
  for (std::int64_t row = 0; row < 4; ++row) EXPECT_EQ((*batch)->spans(row)[0].origin.window, 0);
}

TEST_F(StatefulRuns, AStateAmongTheLastBatchesFitsARunOfAsManyEpochsOnly) {
  auto whole = load(document());
  const auto batches = std::ssize(trained(*whole));
  auto loader = load(document());
  trained(*loader, batches - 1);
  const auto longer = testing::resumed(document(R"(, "epochs": 2)"), kept(*loader));
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.error().text(), HasSubstr("among the last batches of a run of 1 epochs"));
}

TEST_F(StatefulRuns, BatchesOfBeforeARestartSaveNoStates) {
  auto loader = load(document());
  trained(*loader, 2);
  const Json state = kept(*loader);
  const Batch old = **loader->next();
  ASSERT_TRUE(loader->restore(state).ok());
  std::vector<std::int64_t> sums(4);
  EXPECT_THAT(old.save_state("sum", tensor_of(sums)).error().text(), HasSubstr("has gone on from a saved state since"));
  EXPECT_EQ(kept(*loader), state);
}

TEST_F(StatefulRuns, RowsOfShardsAreThoseOfTheWholeRun) {
  const Json json = document(R"(, "epochs": 2)");
  const auto rows_of = [](const Batch& batch) {
    TrainedLines out;
    const auto sums = batch.state("sum");
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto spans = batch.spans(row);
      out.push_back(spans.empty() ? "-"
                                  : batch.key(row) + "/" + std::to_string(spans[0].origin.window) + " " +
                                        std::to_string(sums->as<std::int64_t>()[static_cast<std::size_t>(row)]));
    }
    return out;
  };
  auto whole = load(json);
  std::vector<Loader> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank)
    ranks.push_back(*load(json, {.threads = 1 + rank, .shard_index = rank, .shard_count = 2}));
  std::vector<Json> states;
  while (true) {
    auto all = whole->next();
    TrainedLines together;
    for (Loader& rank : ranks) {
      auto part = rank.next();
      ASSERT_EQ(part.ok() && *part, all.ok() && *all);
      if (!*part) continue;
      const TrainedLines rows = rows_of(**part);
      together.insert(together.end(), rows.begin(), rows.end());
      ASSERT_THAT(train(**part), Not(HasSubstr("error")));
    }
    if (!*all) break;
    ASSERT_EQ(rows_of(**all), together);
    ASSERT_THAT(train(**all), Not(HasSubstr("error")));
    if ((*all)->number() != 9) continue;
    // The state of the whole run is good for a rank, and that of a rank for the same rank only.
    Loader again = *load(json, {.shard_index = 1, .shard_count = 2});
    const Json of_rank = kept(ranks[1]);
    ASSERT_TRUE(again.restore(kept(*whole)).ok());
    EXPECT_EQ(kept(again), of_rank);
    ASSERT_TRUE(again.restore(of_rank).ok());
    auto one = load(json);
    const auto refused = one->restore(of_rank);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), HasSubstr("has the states of the sequences of rows 2 to 3 of 4, and this "
                                                  "process has rows 0 to 3"));
    const Json first = kept(ranks[0]);
    ASSERT_TRUE(one->restore(Json::array({of_rank, first})).ok());
    EXPECT_EQ(kept(*one), kept(*whole)) << "the states of all ranks are that of the whole run";
    const auto refusal = [&](std::vector<Json> list) {
      return one->restore(Json::array(std::move(list))).error().text();
    };
    EXPECT_THAT(refusal({of_rank, of_rank}), HasSubstr("the state of every shard, each once"));
    EXPECT_THAT(refusal({}), HasSubstr("the list of states is empty"));
    EXPECT_THAT(refusal({of_rank, kept(*load(json, {.shard_index = 0, .shard_count = 2}))}),
                HasSubstr("state 0 of the list stands before batch 10, and state 1 before batch 0"));
    Loader third = *load(json, {.shard_index = 2, .shard_count = 3});
    ASSERT_TRUE(third.restore(Json::array({first, of_rank})).ok());
    ASSERT_THAT(trained(third).back(), Not(HasSubstr("error")));
  }
}

}  // namespace
}  // namespace forebay
