// SPDX-License-Identifier: Apache-2.0
// Whole runs over several sources: what each combination delivers, and restarts of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "tests/pipeline/combinations.h"
#include "tests/pipeline/restarts.h"

namespace forebay::combine_runs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::rest;

/// The ids of a run, pass after pass, or its error.
struct Ids {
  std::vector<std::vector<std::int64_t>> passes;
  std::string error;
};

Ids ids_of(const Json& json, const RunOptions& options = {}, std::int64_t batches = -1) {
  Ids out;
  auto loader = load(json, options);
  if (!loader.ok()) return {.passes = {}, .error = loader.error().text()};
  while (batches-- != 0) {
    auto batch = loader->next();
    if (!batch.ok()) return out.error = batch.error().text(), out;
    if (!*batch) return out;
    out.passes.resize(static_cast<std::size_t>((*batch)->epoch()) + 1);
    for (const std::int64_t id : (*batch)->tensor("id").as<std::int64_t>()) out.passes.back().push_back(id);
  }
  return out;
}

std::vector<std::int64_t> of_branch(const std::vector<std::int64_t>& ids, std::int64_t branch) {
  std::vector<std::int64_t> out;
  for (const std::int64_t id : ids) {
    if (id / ids_a_branch == branch) out.push_back(id % ids_a_branch);
  }
  return out;
}

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

const std::string in_a_buffer = R"(, "steps": [{"shuffle": {"buffer": 20}}])";
const std::string hard = R"(, "epoch_boundary": "hard", "epochs": 2)";

TEST(Combine, ConcatGivesOneBranchAfterTheOtherInEveryPass) {
  const Folder folder;
  write_branches(folder, {3, 2});
  const Ids ids = ids_of(document_of({.kind = "concat", .more = hard}, {branch_of(folder, 0), branch_of(folder, 1)}));
  EXPECT_EQ(ids.error, "");
  EXPECT_THAT(ids.passes, ElementsAre(ElementsAre(0, 1, 2, 1000, 1001), ElementsAre(0, 1, 2, 1000, 1001)));
}

TEST(Combine, RoundRobinGoesOnInTheNextPassWhereEachBranchIs) {
  const Folder folder;
  write_branches(folder, {2, 5});
  const Ids ids =
      ids_of(document_of({.kind = "round_robin", .more = hard}, {branch_of(folder, 0), branch_of(folder, 1)}));
  EXPECT_EQ(ids.error, "");
  EXPECT_THAT(ids.passes, ElementsAre(ElementsAre(0, 1000, 1, 1001), ElementsAre(0, 1002, 1, 1003)));
}

TEST(Combine, BranchesOfOneLengthBeginAnewWithEveryPass) {
  const Folder folder;
  write_branches(folder, {2, 2});
  const Ids ids =
      ids_of(document_of({.kind = "round_robin", .more = hard}, {branch_of(folder, 0), branch_of(folder, 1)}));
  EXPECT_THAT(ids.passes, ElementsAre(ElementsAre(0, 1000, 1, 1001), ElementsAre(0, 1000, 1, 1001)));
}

TEST(Combine, ABranchThatRepeatsBeginsItsNextEpochInsideAPass) {
  const Folder folder;
  write_branches(folder, {4, 2});
  const Ids ids = ids_of(document_of({.kind = "round_robin", .more = hard},
                                     {branch_of(folder, 0), branch_of(folder, 1, R"(, "repeat": true)")}));
  EXPECT_THAT(ids.passes, ElementsAre(ElementsAre(0, 1000, 1, 1001, 2, 1000, 3, 1001),
                                      ElementsAre(0, 1000, 1, 1001, 2, 1000, 3, 1001)));
}

TEST(Combine, APassOfANumberOfRowsEndsAfterThem) {
  const Folder folder;
  write_branches(folder, {3, 2});
  const Ids ids =
      ids_of(document_of({.kind = "round_robin", .options = R"("until": 5, )", .more = hard},
                         {branch_of(folder, 0, R"(, "repeat": true)"), branch_of(folder, 1, R"(, "repeat": true)")}));
  EXPECT_THAT(ids.passes, ElementsAre(ElementsAre(0, 1000, 1, 1001, 2), ElementsAre(0, 1000, 1, 1001, 2)));
}

TEST(Combine, AnEmptyBranchIsLeftOutAlsoWhereItRepeats) {
  const Folder folder;
  write_branches(folder, {3, 0});
  const Ids ids = ids_of(document_of({.kind = "round_robin", .options = R"("until": "all", )", .more = hard},
                                     {branch_of(folder, 0), branch_of(folder, 1, R"(, "repeat": true)")}));
  EXPECT_EQ(ids.error, "");
  EXPECT_THAT(ids.passes, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1, 2)));
}

TEST(Combine, AMixDrawsBranchesByTheirWeightsAndKeepsTheOrderOfEach) {
  const Folder folder;
  write_branches(folder, {900, 900});
  const Ids ids = ids_of(
      document_of({.options = R"("weights": [3, 1], "until": 800, )"}, {branch_of(folder, 0), branch_of(folder, 1)}));
  ASSERT_EQ(ids.passes.size(), 1U) << ids.error;
  const auto first = of_branch(ids.passes.front(), 0);
  const auto second = of_branch(ids.passes.front(), 1);
  EXPECT_EQ(first, numbers(0, std::ssize(first)));
  EXPECT_EQ(second, numbers(0, std::ssize(second)));
  EXPECT_NEAR(static_cast<double>(first.size()) / 800, 0.75, 0.05);
}

TEST(Combine, AMixOfAllEndsWhenEveryBranchHasEnded) {
  const Folder folder;
  write_branches(folder, {30, 7, 19});
  const Ids ids = ids_of(document_of({.options = R"("until": "all", )"},
                                     {branch_of(folder, 0), branch_of(folder, 1), branch_of(folder, 2)}));
  ASSERT_EQ(ids.passes.size(), 1U) << ids.error;
  EXPECT_EQ(of_branch(ids.passes.front(), 0), numbers(0, 30));
  EXPECT_EQ(of_branch(ids.passes.front(), 1), numbers(0, 7));
  EXPECT_EQ(of_branch(ids.passes.front(), 2), numbers(0, 19));
}

TEST(Combine, TheShufflesOfTwoEqualBranchesDrawDifferentOrders) {
  const Folder folder;
  write_branches(folder, {50, 50});
  const std::string shuffle = R"(, "steps": [{"shuffle": {"buffer": 100}}])";
  const Ids ids =
      ids_of(document_of({.kind = "concat"}, {branch_of(folder, 0, shuffle), branch_of(folder, 1, shuffle)}));
  ASSERT_EQ(ids.passes.size(), 1U) << ids.error;
  EXPECT_NE(of_branch(ids.passes.front(), 0), of_branch(ids.passes.front(), 1));
}

TEST(Combine, ZipPutsRowsSideBySideAndKeepsThemTogetherInAShuffle) {
  const Folder folder;
  write_branches(folder, {40, 40});
  const Json json =
      document_of({.kind = "zip", .steps = R"({"shuffle": {"buffer": 16}}, {"batch": {"size": 7}})"},
                  {branch_of(folder, 0, only(R"("id", "tokens")")), branch_of(folder, 1, only(R"("x", "name")"))});
  auto loader = load(json, {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::vector<std::int64_t> seen;
  while (true) {
    auto batch = loader->next();
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    if (!*batch) break;
    const auto ids = (*batch)->tensor("id").as<std::int64_t>();
    for (std::int64_t row = 0; row < (*batch)->rows(); ++row) {
      const std::int64_t id = ids[static_cast<std::size_t>(row)];
      EXPECT_EQ((*batch)->tensor("x").as<float>()[static_cast<std::size_t>(4 * row)], static_cast<float>(1000 + id));
      EXPECT_EQ((*batch)->tensor("name").string(row), "record " + std::to_string(1000 + id));
      const std::vector<Origin> origins = (*batch)->origins(row);
      ASSERT_EQ(origins.size(), 2U);
      EXPECT_EQ(origins[0].record, id);
      EXPECT_EQ(origins[1].record, id);
      seen.push_back(id);
    }
  }
  EXPECT_NE(seen, numbers(0, 40)) << "it was shuffled";
  std::ranges::sort(seen);
  EXPECT_EQ(seen, numbers(0, 40));
}

TEST(Combine, ZipOfUnequalBranchesIsAnErrorAfterTheRowsThatAllHave) {
  const Folder folder;
  write_branches(folder, {5, 3});
  const std::vector<std::string> branches{branch_of(folder, 0, only(R"("id")")), branch_of(folder, 1, only(R"("x")"))};
  const Ids strict = ids_of(document_of({.kind = "zip", .steps = R"({"batch": {"size": 3}})"}, branches));
  EXPECT_THAT(strict.passes, ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(strict.error, HasSubstr("branch 1 of `zip` ends after 3 rows, and branch 0 goes on"));
  const Ids short_one =
      ids_of(document_of({.kind = "zip", .options = R"("until": "first", )", .more = hard}, branches));
  EXPECT_EQ(short_one.error, "");
  EXPECT_THAT(short_one.passes, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1, 2)));
}

TEST(Combine, TensorsThatABranchLacksAreFilled) {
  const Folder folder;
  write_branches(folder, {2, 2});
  const Json json = document_of({.kind = "concat",
                                 .options = R"("fill": {"x": 1.5, "name": "none", "tokens": null}, )",
                                 .steps = R"({"batch": {"size": 4, "pad": true}})"},
                                {branch_of(folder, 0), branch_of(folder, 1, only(R"("id")"))});
  auto loader = load(json);
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  EXPECT_THAT((**batch).tensor("id").as<std::int64_t>(), ElementsAre(0, 1, 1000, 1001));
  EXPECT_THAT((**batch).tensor("x").as<float>().subspan(4),
              ElementsAre(1, 1.25, -1, 0.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5));
  EXPECT_EQ((**batch).tensor("name").string(1), "record 1");
  EXPECT_EQ((**batch).tensor("name").string(3), "none");
  EXPECT_THAT((**batch).lengths("tokens")->as<std::int64_t>(), ElementsAre(0, 7, 0, 0));
}

TEST(Combine, StepsAndOrdersAfterTheCombinationActOnTheRowsOfAllBranches) {
  const Folder folder;
  write_branches(folder, {6, 6});
  const Ids ids = ids_of(document_of(
      {.kind = "round_robin", .steps = R"({"skip": {"count": 1}}, {"take": {"count": 4}}, {"repeat": {"count": 2}},
                                                  {"select": {"tensors": ["id"]}}, {"batch": {"size": 3}})"},
      {branch_of(folder, 0), branch_of(folder, 1)}));
  EXPECT_EQ(ids.error, "");
  ASSERT_EQ(ids.passes.size(), 1U);
  EXPECT_EQ(ids.passes.front().size(), 8U);
}

TEST(Combine, ABatchSaysWhichBranchGaveEachRow) {
  const Folder folder;
  write_branches(folder, {2, 4});
  auto loader = load(document_of({.kind = "join"}, {branch_of(folder, 0), branch_of(folder, 1)}));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  std::vector<std::int64_t> branches, records;
  for (std::int64_t row = 0; row < (**batch).rows(); ++row) {
    branches.push_back((**batch).branch(row));
    records.push_back((**batch).origin(row).record);
    EXPECT_THAT((**batch).key(row), HasSubstr("branch-" + std::to_string(branches.back()) + ":"));
  }
  EXPECT_THAT(branches, ElementsAre(0, 1, 0, 1, 1, 1));
  EXPECT_THAT(records, ElementsAre(0, 0, 1, 1, 2, 3));
}

TEST(Combine, StatsCountByBranch) {
  const Folder folder;
  write_branches(folder, {30, 12});
  auto loader = load(document_of({.kind = "concat"}, {branch_of(folder, 0), branch_of(folder, 1)}));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ(rest(*loader).size(), 6U);
  const Stats stats = loader->stats();
  ASSERT_EQ(stats.branches.size(), 2U);
  EXPECT_EQ(stats.branches[0].rows, 30);
  EXPECT_EQ(stats.branches[1].rows, 12);
  EXPECT_EQ(stats.branches[0].records + stats.branches[1].records, stats.records);
  EXPECT_EQ(loader->complete_frac(), 1.0);
}

TEST(Combine, TheDonePartGrowsToTheEndOfTheRun) {
  const Folder folder;
  write_branches(folder, {64, 32});
  auto loader =
      load(document_of({.kind = "concat", .more = R"(, "epochs": 2)"}, {branch_of(folder, 0), branch_of(folder, 1)}));
  ASSERT_TRUE(loader.ok());
  double last = 0;
  while (true) {
    const auto batch = loader->next();
    ASSERT_TRUE(batch.ok());
    if (!*batch) break;
    EXPECT_GE(loader->complete_frac(), last);
    last = loader->complete_frac();
  }
  EXPECT_EQ(loader->complete_frac(), 1.0);
}

TEST(Combine, RowShardsTogetherAreTheWholeBatches) {
  const Folder folder;
  write_branches(folder, {37, 23});
  const Json json = document_of({.options = R"("until": "all", )"}, {branch_of(folder, 0), branch_of(folder, 1)});
  const Ids whole = ids_of(json);
  auto left = load(json, {.shard_index = 0, .shard_count = 2});
  auto right = load(json, {.shard_index = 1, .shard_count = 2});
  ASSERT_TRUE(left.ok() && right.ok());
  std::vector<std::int64_t> ids;
  while (true) {
    bool more = false;
    for (Loader* loader : {&*left, &*right}) {
      auto batch = loader->next();
      ASSERT_TRUE(batch.ok()) << batch.error().text();
      if (!*batch) continue;
      more = true;
      for (const std::int64_t id : (*batch)->tensor("id").as<std::int64_t>()) ids.push_back(id);
    }
    if (!more) break;
  }
  EXPECT_THAT(whole.passes, ElementsAre(ids));
  const auto by_file = load(json, {.shard_index = 0, .shard_count = 2, .shard_by = ShardBy::file});
  ASSERT_FALSE(by_file.ok());
  EXPECT_THAT(by_file.error().text(), HasSubstr("shard by rows"));
}

TEST(Combine, ShardsByBatchTakeTurnsAndShardsByElementDealTheRows) {
  const Folder folder;
  write_branches(folder, {37, 24});
  const Json json =
      document_of({.options = R"("until": "all", )", .steps = R"({"batch": {"size": 4, "remainder": "pad"}})"},
                  {branch_of(folder, 0, in_a_buffer), branch_of(folder, 1)});
  auto whole = load(json, {});
  ASSERT_TRUE(whole.ok());
  const std::vector<std::string> batches = rest(*whole);
  ASSERT_EQ(batches.size(), 16U);
  const std::vector<std::int64_t> ids = ids_of(json).passes.at(0);
  for (const std::int64_t index : {0, 1}) {
    auto turn = load(json, {.shard_index = index, .shard_count = 2, .shard_by = ShardBy::batch});
    ASSERT_TRUE(turn.ok()) << turn.error().text();
    std::vector<std::string> own;
    for (std::size_t i = static_cast<std::size_t>(index); i < batches.size(); i += 2) own.push_back(batches[i]);
    EXPECT_EQ(rest(*turn), own);
    const Ids dealt =
        ids_of(json, {.threads = 2, .shard_index = index, .shard_count = 2, .shard_by = ShardBy::element});
    std::vector<std::int64_t> mine;
    for (std::size_t i = static_cast<std::size_t>(index); i < 61; i += 2) mine.push_back(ids[i]);
    mine.resize(32);  // the last batch of each shard is filled up
    EXPECT_THAT(dealt.passes, ElementsAre(mine)) << dealt.error;
  }
}

/// Changes a byte in the payload of record `record` of a plain file.
void corrupt(const std::string& path, std::int64_t record) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < record; ++i) {
    std::uint64_t length = 0;
    file.seekg(at);
    file.read(reinterpret_cast<char*>(&length), sizeof(length));
    at += 16 + static_cast<std::int64_t>(length);
  }
  file.seekp(at + 20);
  file.put('\x7e');
}

TEST(Combine, AnErrorNamesTheRecordOfItsBranch) {
  const Folder folder;
  write_branches(folder, {20, 20});
  corrupt(folder.file("branch-0"), 9);
  for (const std::int64_t threads : {1, 8}) {
    const Ids ids = ids_of(document_of({.kind = "round_robin"}, {branch_of(folder, 0), branch_of(folder, 1)}),
                           {.threads = threads});
    EXPECT_THAT(ids.error, HasSubstr("branch-0"));
    EXPECT_THAT(ids.error, HasSubstr("record 9"));
    ASSERT_EQ(ids.passes.size(), 1U);
    EXPECT_EQ(ids.passes.front().size(), 16U) << "the batches before the one with row 18";
  }
}

TEST(Combine, OneBranchMaySkipCorruptRecordsAndCountsThem) {
  const Folder folder;
  write_branches(folder, {20, 20});
  corrupt(folder.file("branch-0"), 9);
  const Json json =
      document_of({.kind = "concat"}, {branch_of(folder, 0, R"(, "on_corrupt": "skip_record")"), branch_of(folder, 1)});
  auto loader = load(json);
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ(rest(*loader).size(), 5U);
  const Stats stats = loader->stats();
  ASSERT_EQ(stats.branches.size(), 2U);
  EXPECT_EQ(stats.branches[0].skipped_records, 1);
  EXPECT_EQ(stats.branches[1].skipped_records, 0);
  EXPECT_EQ(stats.branches[0].rows, 19);
}

TEST(Combine, ArraysAndFilesMix) {
  const Folder folder;
  write_branches(folder, {3});
  const std::vector<std::int64_t> ids{1000, 1001, 1002, 1003};
  auto rows = array_rows({{.name = "id", .dtype = DType::int64, .shape = {4}, .data = ids.data()}}, nullptr);
  ASSERT_TRUE(rows.ok());
  const Json json = document_of({.kind = "join"},
                                {branch_of(folder, 0, only(R"("id")")), R"({"source": {"arrays": {"bind": "a"}}})"});
  auto loader = load(json, {}, ".", {{"a", *rows}});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  auto batch = loader->next();
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  EXPECT_THAT((**batch).tensor("id").as<std::int64_t>(), ElementsAre(0, 1000, 1, 1001, 2, 1002, 1003));
}

}  // namespace
}  // namespace forebay::combine_runs
