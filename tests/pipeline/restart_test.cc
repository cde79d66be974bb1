// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::boundaries;
using testing::document;
using testing::Folder;
using testing::kept;
using testing::orders;
using testing::rest;
using testing::resumed;
using testing::write_examples;
using testing::write_five;

class Restart : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Restart, AtEveryBatchGivesTheRestOfTheUnbrokenRun) {
  const Folder folder;
  write_five(folder);
  const Json json = document(folder.file("part-?.tfrecord"), std::get<0>(GetParam()), std::get<1>(GetParam()));
  auto pipeline = load(json, {.threads = 2});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  const auto [unbroken, states] = testing::whole_run(*pipeline);
  ASSERT_GT(unbroken.size(), 10U);
  EXPECT_EQ(kept(*pipeline), states.back()) << "the end is a place, too";
  const auto stride = tests::how_much<std::size_t>(1, 5, 25);  // with no divisor of the numbers below
  for (std::size_t at = 0; at < states.size(); at += stride) {
    SCOPED_TRACE(at);
    auto again = resumed(json, states[at], {.threads = static_cast<std::int64_t>(1 + at % 3)});
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(kept(*again), states[at]) << "a restart that nothing was taken from stands where it stood";
    const std::size_t some = std::min<std::size_t>(at % 4, unbroken.size() - at);
    const auto from = unbroken.begin() + static_cast<std::ptrdiff_t>(at);
    const auto middle = from + static_cast<std::ptrdiff_t>(some);
    ASSERT_EQ(rest(*again, static_cast<std::int64_t>(some)), std::vector<std::string>(from, middle));
    EXPECT_EQ(testing::place(kept(*again)), testing::place(states[at + some]));
    auto second = resumed(json, kept(*again));
    ASSERT_TRUE(second.ok()) << second.error().text();
    ASSERT_EQ(rest(*second), std::vector<std::string>(middle, unbroken.end()));
  }
}

TEST_P(Restart, SeekGivesTheBatchWithANumberAndStandsBeforeIt) {
  const Folder folder;
  write_five(folder);
  const Json json = document(folder.file("part-?.tfrecord"), std::get<0>(GetParam()), std::get<1>(GetParam()));
  auto pipeline = load(json, {.threads = 2});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  const auto [unbroken, states] = testing::whole_run(*pipeline);
  const auto stride = tests::how_much<std::size_t>(1, 3, 19);
  for (std::size_t at = 0; at < states.size(); at += stride) {
    const std::size_t number = (at * 7 + 3) % states.size();  // forwards and back
    SCOPED_TRACE(number);
    ASSERT_TRUE(pipeline->seek(static_cast<std::int64_t>(number)).ok());
    const Json state = kept(*pipeline);
    const auto from = unbroken.begin() + static_cast<std::ptrdiff_t>(number);
    const auto end = from + std::min<std::ptrdiff_t>(2, unbroken.end() - from);
    ASSERT_EQ(rest(*pipeline, 2), std::vector<std::string>(from, end));
    auto again = resumed(json, state);
    ASSERT_TRUE(again.ok()) << again.error().text();
    ASSERT_EQ(rest(*again), std::vector<std::string>(from, unbroken.end()));
  }
  const auto past = pipeline->seek(static_cast<std::int64_t>(unbroken.size()) + 1);
  ASSERT_FALSE(past.ok());
  EXPECT_EQ(past.error().code(), Code::config);
}

INSTANTIATE_TEST_SUITE_P(Orders, Restart,
                         ::testing::Combine(::testing::ValuesIn(orders()), ::testing::ValuesIn(boundaries())));

/// What the states of a run say was done, in thousandths, before and behind every batch; a run that goes on from each
/// of them must say the same.
std::vector<std::int64_t> done_in(const Json& json, const RunOptions& options) {
  const auto state_of = [](const Loader& pipeline) {
    const Json state = kept(pipeline);
    const Json& order = *state.find("sections")->find("order");
    const double done = static_cast<double>(order.find("epoch")->integer()) + 1e-6 * order.find("done")->number();
    const auto epochs = static_cast<double>(*pipeline.plan().epochs());
    return std::pair{state, static_cast<std::int64_t>(std::llround(1e6 * done / epochs))};
  };
  std::vector<std::pair<Json, std::int64_t>> places;
  auto pipeline = load(json, options);
  do places.push_back(state_of(*pipeline));
  while (!rest(*pipeline, 1).empty());
  std::vector<std::int64_t> out;
  for (std::size_t at = 0; at < places.size(); ++at) {
    auto again = resumed(json, places[at].first, options);
    EXPECT_TRUE(again.ok());
    for (std::size_t next = at; next < places.size(); ++next) {
      EXPECT_EQ(state_of(*again), places[next]) << "from " << at;
      static_cast<void>(rest(*again, 1));
    }
    EXPECT_EQ(again->complete_frac(), 1.0);
    out.push_back((places[at].second + 500) / 1000);
  }
  return out;
}

TEST(Progress, OfAGlobalShuffleIsTheShareOfTheRecordsThatWereDelivered) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 70);
  write_examples(folder.file("b"), 70, 30, Compression::gzip);
  const auto done = [&](const std::string& steps, const std::string& more = "", const RunOptions& options = {}) {
    return done_in(document(folder.file("?"), R"({"shuffle": {"global": true}}, )" + steps, more), options);
  };
  using Shares = std::vector<std::int64_t>;
  EXPECT_EQ(done(R"({"batch": {"size": 40}})"), (Shares{0, 400, 800, 1000}));
  EXPECT_EQ(done(R"({"batch": {"size": 40}})", R"(, "epochs": 2)"), (Shares{0, 200, 400, 600, 800, 1000}));
  EXPECT_EQ(done(R"({"batch": {"size": 40}})", R"(, "epochs": 2, "epoch_boundary": "hard")"),
            (Shares{0, 200, 400, 500, 700, 900, 1000}));
  EXPECT_EQ(done(R"({"shuffle": {"buffer": 30}}, {"batch": {"size": 40}})"), (Shares{0, 400, 800, 1000}));
  EXPECT_EQ(done(R"({"repeat": {"count": 2}}, {"batch": {"size": 50}})"), (Shares{0, 250, 500, 750, 1000}));
  EXPECT_EQ(done(R"({"skip": {"count": 20}}, {"take": {"count": 60}}, {"batch": {"size": 30}})"),
            (Shares{0, 500, 1000}));
  EXPECT_EQ(done(R"({"batch": {"size": 20, "remainder": "drop"}})", "",
                 {.shard_index = 0, .shard_count = 2, .shard_by = ShardBy::file}),
            (Shares{0, 333, 667, 1000}));
}

TEST(Progress, OfAPassDoesNotCountFilesThatTheOneBeforeLeftOpen) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 70);
  write_examples(folder.file("b"), 70, 30);
  const std::string steps =
      R"({"interleave": {"cycle": 2, "block": 60}}, {"take": {"count": 60}}, {"batch": {"size": 30}})";
  EXPECT_EQ(done_in(document(folder.file("?"), steps, R"(, "epochs": 2)"), {.threads = 1}),
            (std::vector<std::int64_t>{0, 250, 250, 750, 750}));
}

/// The rows of a batch, each as text, so that the shards of a batch can be put together again.
std::vector<std::string> rows_of(const Batch& batch) {
  std::vector<std::string> out;
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    const bool has_record = batch.has_spans() ? batch.origin(row).record >= 0 : row < batch.valid_rows();
    std::string text = has_record ? batch.key(row) : "empty";
    text += " " + std::to_string(batch.tensor("id").as<std::int64_t>()[static_cast<std::size_t>(row)]);
    text += " " + std::string{batch.tensor("name").string(row)};
    for (std::size_t i = 0; i < 4; ++i)
      text += " " + std::to_string(batch.tensor("x").as<float>()[static_cast<std::size_t>(row) * 4 + i]);
    const Value& tokens = *batch.find("tokens");
    if (tokens.kind == Value::Kind::ragged) {
      const auto splits = tokens.row_splits.front().as<std::int64_t>();
      for (auto i = splits[static_cast<std::size_t>(row)]; i < splits[static_cast<std::size_t>(row) + 1]; ++i)
        text += " t" + std::to_string(tokens.values.as<std::int32_t>()[static_cast<std::size_t>(i)]);
    }
    out.push_back(std::move(text));
  }
  return out;
}

/// Takes `batches` batches from all shards of a job that was resumed from `state`, and says where it then stands.
struct Leg {
  std::vector<std::vector<std::string>> batches;
  Json state;
};

Leg run_leg(const Json& json, const std::optional<Json>& state, std::int64_t shards, RunOptions options,
            std::int64_t batches) {
  Leg out;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    options.shard_index = shard;
    options.shard_count = shards;
    auto pipeline = load(json, options);
    EXPECT_TRUE(pipeline.ok()) << pipeline.error().text();
    if (state) {
      const auto restored = pipeline->restore(*state);
      EXPECT_TRUE(restored.ok()) << restored.error().text();
    }
    std::size_t number = 0;
    for (; number < static_cast<std::size_t>(batches); ++number) {
      auto batch = pipeline->next();
      EXPECT_TRUE(batch.ok()) << batch.error().text();
      if (!batch.ok() || !*batch) break;
      if (shard == 0) out.batches.emplace_back();
      if (number >= out.batches.size()) break;
      for (std::string& row : rows_of(**batch)) out.batches[number].push_back(std::move(row));
    }
    EXPECT_EQ(number, out.batches.size()) << "every shard has the same number of batches";
    const Json now = kept(*pipeline);
    if (shard == 0) out.state = now;
    EXPECT_EQ(now, out.state) << "every shard stands at the same place";
  }
  return out;
}

void flip(const std::string& path, std::int64_t offset) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(offset);
  const auto byte = static_cast<char>(file.get() ^ 0x40);
  file.seekp(offset);
  file.put(byte);
}

void corruption_files(const Folder& folder) {
  flip(folder.file("part-0.tfrecord"), 1200);  // in a payload
  flip(folder.file("part-0.tfrecord"), 3020);  // in the head of a frame
  const auto written =
      write_records(folder.file("part-3.tfrecord"), {testing::example_of(400), "no message", testing::example_of(401)});
  ASSERT_TRUE(written.ok()) << written.error().text();
}

/// What a chain runs over and how.
struct Chain {
  const Folder* folder = nullptr;
  std::string order, boundary, more;
};

/// Eight restarts at random batches, each with other threads, shards and prefetch, and the rest of the run after each.
void expect_equal_to_unbroken(const Chain& chain, std::mt19937& random) {
  const auto pick = [&](auto... values) {
    const std::vector<std::int64_t> all{values...};
    return all[random() % all.size()];
  };
  const Json json = document(chain.folder->file("part-?.tfrecord"), chain.order, chain.boundary + chain.more);
  const Leg unbroken = run_leg(json, std::nullopt, 1, {.threads = 2}, 1'000'000);
  ASSERT_GT(unbroken.batches.size(), 10U);
  std::vector<std::vector<std::string>> seen;
  std::optional<Json> state;
  for (int leg = 0; leg < 9; ++leg) {
    const std::int64_t batches = leg == 8 ? 1'000'000 : static_cast<std::int64_t>(random() % 12);
    const RunOptions options{.threads = pick(1, 2, 3, 8), .prefetch = pick(0, 1, 5)};
    Leg next = run_leg(json, state, pick(1, 1, 2, 2, 3, 6), options, batches);
    seen.insert(seen.end(), next.batches.begin(), next.batches.end());
    state = next.state;
  }
  ASSERT_TRUE(seen == unbroken.batches) << json.text();
}

// Plain, gzip and zlib files, with and without indexes, whole and corrupt, under every order, batcher and epoch
// boundary: 56 mixtures, each three times or more.
TEST(RestartChains, OfEightWithOtherThreadsAndShardsEqualTheUnbrokenRun) {
  const Folder plain, indexed, corrupt;
  for (const Folder* folder : {&plain, &indexed, &corrupt}) write_five(*folder);
  const auto made = index_files({indexed.file("part-?.tfrecord")});
  ASSERT_TRUE(made.ok()) << made.error().text();
  ASSERT_TRUE(std::filesystem::exists(indexed.file(".forebay/index-v1")));
  corruption_files(corrupt);
  std::vector<Chain> mixtures;
  for (const auto& [folder, more] :
       std::vector<std::pair<const Folder*, std::string>>{{&plain, ""},
                                                          {&indexed, ""},
                                                          {&corrupt, R"(, "on_corrupt": "skip_record")"},
                                                          {&corrupt, R"(, "on_corrupt": "skip_file")"}}) {
    for (const std::string& order : orders()) {
      for (const std::string& boundary : boundaries()) mixtures.push_back({folder, order, boundary, more});
    }
  }
  std::mt19937 random{20261121};
  std::shuffle(mixtures.begin(), mixtures.end(), random);
  const auto chains = tests::how_much<std::size_t>(200, 60, 12);
  for (std::size_t chain = 0; chain < chains; ++chain) {
    SCOPED_TRACE(chain);
    expect_equal_to_unbroken(mixtures[chain % mixtures.size()], random);
    if (HasFatalFailure()) return;
  }
}

// ---------------------------------------------------------------- shards

TEST(Shards, ShareOutEveryBatchAndTheShortOneAsEvenlyAsItGoes) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 17);
  const Json json = document(folder.file("a"), R"({"batch": {"size": 12}})");
  std::vector<std::vector<std::int64_t>> rows;
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    auto pipeline = load(json, {.shard_index = shard, .shard_count = 4});
    ASSERT_TRUE(pipeline.ok());
    rows.emplace_back();
    while (true) {
      auto batch = pipeline->next();
      ASSERT_TRUE(batch.ok()) << batch.error().text();
      if (!*batch) break;
      rows.back().push_back((*batch)->rows());
    }
  }
  EXPECT_EQ(rows, (std::vector<std::vector<std::int64_t>>{{3, 1}, {3, 1}, {3, 1}, {3, 2}}));
}

TEST(Shards, OfAVeryShortBatchMayBeEmptyButAreThere) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 13);
  const Json json = document(folder.file("a"), R"({"batch": {"size": 12}})");
  const Leg whole = run_leg(json, std::nullopt, 1, {}, 100);
  EXPECT_EQ(run_leg(json, std::nullopt, 6, {}, 100).batches, whole.batches);
}

TEST(Shards, SayOnceThatTheyHaveNoRowOfABatch) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 13);
  const Json json =
      document(folder.file("a"), R"({"batch": {"size": 12}})", R"(, "epochs": 3, "epoch_boundary": "hard")");
  for (std::int64_t shard = 0; shard < 6; ++shard) {
    auto loader = load(json, {.shard_index = shard, .shard_count = 6});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    std::vector<std::string> lines;
    while (*loader->next()) {
      if (std::string line = loader->take_notice(); !line.empty()) lines.push_back(std::move(line));
    }
    EXPECT_EQ(
        lines,
        shard == 5
            ? std::vector<std::string>{}
            : std::vector<
                  std::string>{"batch 1 has fewer rows than there are row shards (6), so this shard has none of them; "
                               "`remainder`: \"drop\" or \"pad\" gives every shard rows in every batch, and shards by "
                               "batch have whole batches"})
        << shard;
  }
}

TEST(Shards, ThatDoNotDivideABatchAreRefusedWithThoseThatDo) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 13);
  const auto pipeline = load(document(folder.file("a"), R"({"batch": {"size": 12}})"), {.shard_count = 5});
  ASSERT_FALSE(pipeline.ok());
  EXPECT_EQ(pipeline.error().text(),
            "shard: a batch of 12 rows cannot be divided among 5 shards; counts that fit: 1, 2, 3, 4, 6, 12");
}

TEST(Seek, ThatIsStoppedLeavesTheLoaderWhereItWas) {
  const Folder folder;
  write_five(folder);
  const Json json = document(folder.file("part-?.tfrecord"),
                             R"({"filter": {"where": "id >= 0"}}, {"batch": {"size": 2}})", R"(, "epochs": null)");
  auto pipeline = load(json, {.threads = 1});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  const std::vector<std::string> first = rest(*pipeline, 2);
  int asked = 0;
  const auto stopped = pipeline->seek(100'000'000, [&] { return ++asked > 1; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), Code::cancelled);
  auto whole = load(json, {.threads = 1});
  const std::vector<std::string> begin = rest(*whole, 4);
  const std::vector<std::string> next = rest(*pipeline, 2);
  EXPECT_EQ(next, std::vector<std::string>(begin.begin() + 2, begin.end()));
}

}  // namespace
}  // namespace forebay
