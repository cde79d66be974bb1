// SPDX-License-Identifier: Apache-2.0
// Tests of batches without a fixed number of rows, with a batcher that the test defines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/plugin.h>

#include "engine/program/plan_access.h"
#include "plan/state/state.h"
#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::Folder;

struct Until {
  std::int64_t divisor = 2;
};

/// Ends a batch after a record whose length is a multiple of `divisor`.
class UntilBatcher final : public Batcher {
 public:
  explicit UntilBatcher(Until options) : options_{options} {}
  Result<Cut> cut(Handles& in, BatchRows& out) override {
    while (true) {
      Handle record;
      FOREBAY_TRY(const std::size_t count, in.pull({&record, 1}));
      if (count == 0) break;
      out.row(record);
      if (record.length > 0 && record.length % options_.divisor == 0) break;
    }
    return out.rows() > 0 ? Cut::batch : Cut::end_of_pass;
  }

 private:
  const Until options_;
};

Json free_batches(const Folder& folder, const std::string& more) {
  static const bool registered = [] {
    const auto bind = [](const Until& options, const Schema&) -> Result<Batching> {
      Batching out;
      out.make = [options](const BatcherContext&) { return std::make_unique<UntilBatcher>(options); };
      return out;
    };
    Registry::global().add(
        describe<BatcherType, Until>("test_until", "Ends a batch after a record of such a length.", bind)
            .field("divisor", &Until::divisor, "Divides the length of a batch's last record.", {.min = 1})
            .example({.options = R"({"divisor": 1})", .in = "[1, 2]", .out = "[[1], [2]]"}));
    return true;
  }();
  static_cast<void>(registered);
  return testing::document(folder.file("part-?.tfrecord"),
                           R"({"shuffle": {"buffer": 40}}, {"test_until": {"divisor": 7}})", more);
}

constexpr const char* over_epochs = R"(, "epochs": 3, "seed": 5)";
constexpr const char* epoch_by_epoch = R"(, "epochs": 3, "seed": 5, "epoch_boundary": "hard")";

TEST(FreeBatches, AreRestoredAtEveryBatch) {
  const Folder folder;
  testing::write_five(folder);
  for (const char* const more : {over_epochs, epoch_by_epoch}) {
    const Json json = free_batches(folder, more);
    auto whole = load(json);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    const auto [batches, states] = testing::whole_run(*whole);
    EXPECT_GT(batches.size(), 50U);
    EXPECT_THAT(batches.back(), ::testing::Not(::testing::StartsWith("error")));
    for (std::size_t at = 0; at < states.size(); ++at) {
      auto again = testing::resumed(json, states[at]);
      ASSERT_TRUE(again.ok()) << at << " " << again.error().text();
      const std::vector<std::string> behind{batches.begin() + static_cast<std::ptrdiff_t>(at), batches.end()};
      EXPECT_TRUE(testing::rest(*again) == behind) << at;
    }
  }
}

TEST(FreeBatches, AreDividedAmongAnyNumberOfShardsByRow) {
  const Folder folder;
  testing::write_five(folder);
  const Json json = free_batches(folder, over_epochs);
  auto whole = load(json);
  std::vector<Loader> shards;
  for (std::int64_t index = 0; index < 5; ++index) {
    auto shard = load(json, {.threads = 1, .shard_index = index, .shard_count = 5});
    ASSERT_TRUE(shard.ok()) << shard.error().text();
    shards.push_back(*std::move(shard));
  }
  bool without_rows = false;
  while (true) {
    auto all = whole->next();
    ASSERT_TRUE(all.ok()) << all.error().text();
    std::vector<std::string> expected, got;
    for (std::int64_t row = 0; *all && row < (*all)->rows(); ++row) expected.push_back((*all)->key(row));
    for (Loader& shard : shards) {
      auto part = shard.next();
      ASSERT_TRUE(part.ok()) << part.error().text();
      ASSERT_EQ(part->has_value(), all->has_value());
      without_rows = without_rows || (*part && (*part)->rows() == 0);
      for (std::int64_t row = 0; *part && row < (*part)->rows(); ++row) got.push_back((*part)->key(row));
    }
    EXPECT_EQ(got, expected);
    if (!*all) break;
  }
  EXPECT_TRUE(without_rows) << "a batch of fewer rows than shards";
}

TEST(FreeBatches, OverEpochsHaveNoShardsByFile) {
  const Folder folder;
  testing::write_five(folder);
  const auto shard =
      load(free_batches(folder, over_epochs), {.shard_index = 0, .shard_count = 2, .shard_by = ShardBy::file});
  ASSERT_FALSE(shard.ok());
  EXPECT_THAT(shard.error().text(), ::testing::HasSubstr("set `epoch_boundary` to hard, or shard by rows"));
}

TEST(FreeBatches, AMadeUpStateDoesNotNameMoreRecordsThanABatchMayHave) {
  const Folder folder;
  testing::write_five(folder);
  auto loader = load(free_batches(folder, over_epochs));
  ASSERT_TRUE(loader.ok());
  const auto state = plan::write_state(loader->plan(), {}, testing::sizes_now(loader->plan()),
                                       {.epoch = 1, .batch = 3, .pulled = 100'000'001, .next = 4});
  const auto restored = loader->restore(*state);
  ASSERT_FALSE(restored.ok());
  EXPECT_THAT(restored.error().text(), ::testing::HasSubstr("'pulled' is at most 100000000"));
}

}  // namespace
}  // namespace forebay
