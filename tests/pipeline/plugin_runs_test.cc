// SPDX-License-Identifier: Apache-2.0
// What every registered plug-in must do in a run, from its worked examples alone: restart at every batch, shards of
// every kind, and input without elements.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"
#include "tests/pipeline/worked_examples.h"

namespace forebay {
namespace {

using testing::Folder;
using worked::bindings_of;
using worked::Case;

constexpr std::int64_t max_batches = 40;  // of a run: some orders go on for ever

/// A run of the example in batches of one row where the plug-in does not cut them, twice over the data.
struct ExampleRun {
  explicit ExampleRun(const Case& at) : example{at}, json{worked::document_of(at, folder, 1)} {
    if (may_begin_anew()) json.set("epochs", 2);
    json.set("seed", 3);
  }

  /// Rows that a program pushes can be read once.
  [[nodiscard]] bool may_begin_anew() const {
    const auto plan = Plan::make(json, ".", bindings_of(example));
    if (!plan.ok()) return true;
    const auto& rows = engine::program_of(*plan).source.rows;
    return rows == nullptr || rows->resident();
  }
  [[nodiscard]] Result<Loader> begin(const RunOptions& options = {}) const {
    return load(json, options, ".", bindings_of(example));
  }
  [[nodiscard]] std::vector<std::string> batches(const RunOptions& options = {}) const {
    auto loader = begin(options);
    if (!loader.ok()) return {"refused: " + loader.error().text()};
    return testing::rest(*loader, max_batches);
  }

  const Folder folder;
  Case example;
  Json json;
};

/// Whether the outcome of the example is written as an object.
bool makes_tensors(const Case& at) { return testing::parse(at.example.out).is(Json::Kind::object); }

class PluginRun : public ::testing::TestWithParam<Case> {};

TEST_P(PluginRun, IsTheSameForOneAndForEightThreads) {
  const ExampleRun run{GetParam()};
  const std::vector<std::string> one = run.batches({.threads = 1});
  EXPECT_EQ(one.empty(), testing::parse(GetParam().example.out).items().empty() && !makes_tensors(GetParam()));
  EXPECT_EQ(run.batches({.threads = 8}), one);
}

TEST_P(PluginRun, RestartsAtEveryBatch) {
  const ExampleRun run{GetParam()};
  if (!run.may_begin_anew()) {
    auto loader = run.begin();
    ASSERT_TRUE(loader.ok());
    EXPECT_EQ(loader->state().error().code(), Code::state);
    return;
  }
  const std::vector<std::string> whole = run.batches();
  auto first = run.begin();
  ASSERT_TRUE(first.ok()) << first.error().text();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const Json state = testing::kept(*first);
    for (const std::int64_t threads : {1, 8}) {
      auto second = run.begin({.threads = threads});
      ASSERT_TRUE(second.ok());
      ASSERT_TRUE(second->restore(state).ok());
      const std::vector<std::string> expected{whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end()};
      ASSERT_EQ(testing::rest(*second, std::ssize(expected)), expected) << "restarted before batch " << at;
    }
    ASSERT_EQ(testing::rest(*first, 1), std::vector<std::string>{whole[at]});
  }
}

TEST_P(PluginRun, ShardsByBatchInTurnGiveTheWholeRun) {
  const ExampleRun run{GetParam()};
  const std::vector<std::string> whole = run.batches();
  std::vector<std::string> together(whole.size());
  for (std::int64_t index = 0; index < 2; ++index) {
    const auto part = run.batches({.batch_index = index, .batch_count = 2});
    for (std::size_t i = 0; i < part.size() && 2 * i + static_cast<std::size_t>(index) < whole.size(); ++i)
      together[2 * i + static_cast<std::size_t>(index)] = part[i];
  }
  EXPECT_EQ(together, whole);
}

/// The keys of the rows of a run that are not empty, batch after batch.
std::vector<std::vector<std::string>> keys_of_batches(const ExampleRun& run, const RunOptions& options) {
  std::vector<std::vector<std::string>> out;
  auto loader = run.begin(options);
  if (!loader.ok()) return {{"refused: " + loader.error().text()}};
  while (std::ssize(out) < max_batches) {
    auto batch = loader->next();
    if (!batch.ok()) return out.push_back({batch.error().text()}), out;
    if (!*batch) break;
    out.emplace_back();
    for (std::int64_t row = 0; row < (*batch)->rows(); ++row) {
      if ((*batch)->origin(row).record >= 0) out.back().push_back((*batch)->key(row));
    }
  }
  return out;
}

bool was_refused(const std::vector<std::vector<std::string>>& batches) {
  return !batches.empty() && !batches.front().empty() && batches.front().front().starts_with("refused: ");
}

TEST_P(PluginRun, ShardsByRowTogetherHaveTheRowsOfEachBatch) {
  ExampleRun run{GetParam()};
  if (GetParam().kind != "batcher") run.json = worked::document_of(GetParam(), run.folder, 2);
  const auto whole = keys_of_batches(run, {});
  const auto first = keys_of_batches(run, {.shard_index = 0, .shard_count = 2});
  const auto second = keys_of_batches(run, {.shard_index = 1, .shard_count = 2});
  if (was_refused(first)) {
    EXPECT_THAT(first.front().front(), ::testing::HasSubstr("shard"));
    return;
  }
  ASSERT_EQ(first.size(), whole.size());
  ASSERT_EQ(second.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::string> together = first[i];
    together.insert(together.end(), second[i].begin(), second[i].end());
    EXPECT_EQ(together, whole[i]) << "batch " << i;
  }
}

TEST_P(PluginRun, ShardsByFileAndByElementHaveEquallyManyBatchesOrAreRefused) {
  for (const ShardBy by : {ShardBy::file, ShardBy::element}) {
    ExampleRun run{GetParam()};
    if (GetParam().kind != "batcher") run.json = worked::document_of(GetParam(), run.folder, 2);
    const auto first = keys_of_batches(run, {.shard_index = 0, .shard_count = 2, .shard_by = by});
    const auto second = keys_of_batches(run, {.shard_index = 1, .shard_count = 2, .shard_by = by});
    if (was_refused(first)) {
      EXPECT_EQ(second, first);
      EXPECT_THAT(first.front().front(), ::testing::HasSubstr("shard"));
    } else {
      EXPECT_EQ(second.size(), first.size());
    }
  }
}

/// Takes all elements away: the files become empty, or go where an empty file is an element; the tensors have no rows.
void take_elements_away(ExampleRun& run) {
  const auto plan = Plan::make(run.json, ".", bindings_of(run.example));
  const bool whole_files = plan.ok() && engine::program_of(*plan).source.files_a_part > 0;
  const std::filesystem::path folder{run.folder.file("")};
  for (const auto& file : std::filesystem::directory_iterator{folder}) {
    if (!whole_files) std::filesystem::resize_file(file.path(), 0);
    if (whole_files) std::filesystem::remove(file.path());
  }
  if (!worked::gives_rows(run.example)) return;
  const Json in = testing::parse(run.example.example.in);
  Json none = Json::object();
  for (const auto& [name, tensor] : in.members()) none.set(name, Json::array());
  run.example.example.in = none.text();
}

TEST_P(PluginRun, WithoutElementsEndsOrSaysThatThereAreNone) {
  ExampleRun run{GetParam()};
  take_elements_away(run);
  auto loader = run.begin();
  if (!loader.ok()) {
    EXPECT_NE(loader.error().code(), Code::internal) << loader.error().text();
    return;
  }
  for (std::int64_t i = 0; i < max_batches; ++i) {
    auto batch = loader->next();
    if (!batch.ok()) {
      EXPECT_EQ(batch.error().code(), Code::data) << batch.error().text();
      return;
    }
    if (!*batch) return;
    EXPECT_EQ((*batch)->valid_rows(), 0);
  }
  FAIL() << "more than " << max_batches << " batches of no elements";
}

INSTANTIATE_TEST_SUITE_P(Plugins, PluginRun, ::testing::ValuesIn(worked::worked_examples()));

}  // namespace
}  // namespace forebay
