// SPDX-License-Identifier: Apache-2.0
// Loops over epochs: restarts at every place, breaks in the middle, and epochs without batches.
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;
using testing::kept;
using testing::resumed;
using testing::text_of;
using testing::write_examples;

using Events = std::vector<std::string>;

std::string numbered(const Batch& batch) { return std::to_string(batch.number()) + ": " + text_of(batch); }

/// All epochs from here on: a line for each epoch and each batch. An error is the last line.
Events all_epochs(Loader& loader) {
  Events out;
  for (Epoch& epoch : loader.epochs()) {
    out.push_back("epoch " + std::to_string(epoch.number()));
    for (const Batch& batch : epoch) out.push_back(numbered(batch));
  }
  if (!loader.status().ok()) out.push_back(loader.status().error().text());
  return out;
}

/// The same from the batches of a plain loop and their epochs.
Events grouped(const Json& json) {
  auto loader = load(json);
  Events out;
  std::int64_t epochs = 0;
  const auto begin_until = [&](std::int64_t end) {
    for (; epochs < end; ++epochs) out.push_back("epoch " + std::to_string(epochs));
  };
  for (const Batch& batch : loader->batches()) {
    begin_until(batch.epoch() + 1);
    out.push_back(numbered(batch));
  }
  begin_until(*loader->plan().epochs());
  return out;
}

/// A place in a loop over epochs: the state there, and all events from there on.
struct Spot {
  Json state;
  std::string epoch;  ///< The line of the epoch whose rest comes first; empty: a whole epoch comes next.
  std::size_t at = 0;
};

bool is_epoch(const std::string& event) { return event.starts_with("epoch "); }

/// The places of a loop: when an epoch was asked for, after each batch, and when the epoch is used up.
std::vector<Spot> places_of(Loader& loader, std::size_t& events) {
  std::vector<Spot> out;
  for (Epoch& epoch : loader.epochs()) {
    const std::string line = "epoch " + std::to_string(epoch.number());
    out.push_back({kept(loader), line, ++events});
    for ([[maybe_unused]] const Batch& batch : epoch) out.push_back({kept(loader), line, ++events});
    out.push_back({kept(loader), "", events});
  }
  return out;
}

Events rest_from(const Events& all, const Spot& place) {
  Events out{all.begin() + static_cast<std::ptrdiff_t>(place.at), all.end()};
  const bool begins = place.at > 0 && is_epoch(all[place.at - 1]) && !place.epoch.empty();
  const bool rest = !out.empty() && !is_epoch(out.front()) && !place.epoch.empty();
  if (begins || rest) out.insert(out.begin(), place.epoch);
  return out;
}

class EpochLoop : public ::testing::TestWithParam<std::tuple<std::vector<std::int64_t>, std::string, std::string>> {
 protected:
  void SetUp() override {
    const auto& [sizes, steps, more] = GetParam();
    testing::write_parts(folder_, sizes, {.gzip = 2, .zlib = 3});
    json_ = document(folder_.file("part-?.tfrecord"), steps, more);
  }
  Folder folder_;
  Json json_;
};

TEST_P(EpochLoop, RestartsAtEveryPlaceForOneAndForEightThreads) {
  const Events all = grouped(json_);
  for (const std::int64_t threads : {1, 8}) {
    auto loader = load(json_, {.threads = threads});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    std::size_t events = 0;
    const std::vector<Spot> places = places_of(*loader, events);
    ASSERT_EQ(events, all.size());
    for (std::size_t i = 0; i < places.size(); i += tests::sanitized ? 5 : 1) {
      auto again = resumed(json_, places[i].state, {.threads = 9 - threads});
      ASSERT_TRUE(again.ok()) << again.error().text();
      ASSERT_EQ(all_epochs(*again), rest_from(all, places[i])) << "place " << i;
    }
  }
}

/// The first `some` batches of each epoch.
Events first_of_each(const Events& all, std::size_t some) {
  Events out;
  std::size_t taken = 0;
  for (const std::string& event : all) {
    taken = is_epoch(event) ? 0 : taken + 1;
    if (taken <= some) out.push_back(event);
  }
  return out;
}

TEST_P(EpochLoop, GoesOnWithTheNextEpochAfterABreak) {
  const Events all = grouped(json_);
  for (const std::int64_t threads : {1, 8}) {
    for (const std::size_t some : {0, 1, 3}) {
      auto loader = load(json_, {.threads = threads});
      Events seen;
      for (Epoch& epoch : loader->epochs()) {
        seen.push_back("epoch " + std::to_string(epoch.number()));
        auto again = resumed(json_, kept(*loader));
        auto epochs = again->epochs();
        EXPECT_EQ(epochs.begin()->number(), epoch.number()) << "an epoch that was asked for comes again";
        std::size_t count = 0;
        if (some == 0) continue;
        for (const Batch& batch : epoch) {
          seen.push_back(numbered(batch));
          if (++count == some) break;
        }
      }
      ASSERT_EQ(seen, first_of_each(all, some)) << threads << " threads, " << some << " batches an epoch";
    }
  }
}

TEST_P(EpochLoop, KnowsTheLastBatchOfAnEpochWithHardBoundariesOnly) {
  auto loader = load(json_);
  const bool hard = std::get<2>(GetParam()).find("hard") != std::string::npos;
  std::vector<Batch> batches;
  for (const Batch& batch : loader->batches()) batches.push_back(batch);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const bool last = i + 1 == batches.size() || batches[i + 1].epoch() > batches[i].epoch();
    EXPECT_EQ(batches[i].ends_epoch(), hard ? std::optional{last} : std::nullopt) << i;
  }
}

constexpr const char* straddling = R"(, "epochs": 3, "seed": 5)";
constexpr const char* hard_ends = R"(, "epochs": 3, "seed": 5, "epoch_boundary": "hard")";

INSTANTIATE_TEST_SUITE_P(
    Small, EpochLoop,
    ::testing::Combine(
        ::testing::Values(std::vector<std::int64_t>{20, 0, 31, 7, 24}, std::vector<std::int64_t>{5},
                          std::vector<std::int64_t>{24}),
        ::testing::Values(R"({"batch": {"size": 12}})", R"({"batch": {"size": 12, "remainder": "drop"}})",
                          R"({"shuffle": {"buffer": 30}}, {"batch": {"size": 12, "remainder": "pad"}})",
                          R"({"shuffle": {"global": true}}, {"batch": {"size": 12, "remainder": "repeat"}})",
                          R"({"interleave": {"cycle": 3}}, {"take": {"count": 40}}, {"batch": {"size": 7}})"),
        ::testing::Values(straddling, hard_ends)));

TEST(EndlessEpochs, ComeOneAfterTheOther) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 50);
  auto loader =
      load(document(folder.file("a"), R"({"shuffle": {"buffer": 9}}, {"batch": {"size": 8}})", R"(, "epochs": null)"));
  std::vector<std::int64_t> seen;
  for (Epoch& epoch : loader->epochs()) {
    if (epoch.number() == 7) break;
    for (const Batch& batch : epoch) {
      seen.push_back(batch.epoch());
      if (seen.size() % 2 == 0) break;
    }
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
}

TEST(EndlessEpochs, OfNoRecordsEnd) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 0);
  auto loader = load(document(folder.file("a"), R"({"batch": {"size": 8}})", R"(, "epochs": null)"));
  EXPECT_EQ(all_epochs(*loader), Events{"epoch 0"});
}

TEST(Epochs, WhoseRestIsLeftOutIsNotDecoded) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 100);
  std::string bytes = *read_file(folder.file("a"), 1 << 20);
  const std::size_t place = bytes.find("record 95");
  ASSERT_NE(place, std::string::npos);
  bytes[place] = 'X';
  ASSERT_TRUE(write_file(folder.file("a"), bytes).ok());
  for (const char* const boundary : {straddling, hard_ends}) {
    for (const std::int64_t threads : {1, 8}) {
      auto loader = load(document(folder.file("a"), R"({"batch": {"size": 10}})", boundary), {.threads = threads});
      std::vector<std::int64_t> numbers;
      for (Epoch& epoch : loader->epochs()) {
        for (const Batch& batch : epoch) {
          numbers.push_back(batch.number());
          if (epoch.number() < 2 && numbers.size() % 3 == 0) break;
        }
      }
      EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, 2, 10, 11, 12, 20, 21, 22, 23, 24, 25, 26, 27, 28}));
      EXPECT_EQ(loader->status().error().code(), Code::data) << "the record is found in the epoch that is read whole";
    }
  }
}

TEST(Epochs, WhoseRestIsLeftOutGoOnExactlyWithStoredIndexes) {
  const Folder folder;
  testing::write_parts(folder, {40, 61, 19, 80}, {.gzip = 1, .zlib = 3});
  const std::string files = folder.file("part-?.tfrecord");
  auto indexing = load(document(files, R"({"shuffle": {"global": true}}, {"batch": {"size": 12}})"));
  ASSERT_TRUE(indexing->next().ok());  // stores the indexes, by which the order of a left-out rest is decided
  for (const std::string& steps : testing::orders()) {
    for (const char* const boundary : {straddling, hard_ends}) {
      const Json json = document(files, steps, boundary);
      const Events all = grouped(json);
      for (const std::int64_t threads : {1, 8}) {
        auto loader = load(json, {.threads = threads});
        Events seen;
        for (Epoch& epoch : loader->epochs()) {
          seen.push_back("epoch " + std::to_string(epoch.number()));
          for (const Batch& batch : epoch) {
            seen.push_back(numbered(batch));
            if (epoch.number() != 1) break;
          }
        }
        Events expected;
        std::size_t epochs = 0, taken = 0;
        for (const std::string& event : all) {
          epochs += is_epoch(event) ? 1 : 0;
          taken = is_epoch(event) ? 0 : taken + 1;
          if (taken <= 1 || epochs == 2) expected.push_back(event);
        }
        ASSERT_EQ(seen, expected) << steps << boundary << threads;
      }
    }
  }
}

TEST(Peek, ShowsTheNextBatchAndChangesNoState) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 25);
  auto loader = load(document(folder.file("a"), R"({"batch": {"size": 10}})"));
  for (int i = 0; i < 3; ++i) {
    const Json before = kept(*loader);
    const std::string peeked = numbered(**loader->peek());
    EXPECT_EQ(numbered(**loader->peek()), peeked);
    EXPECT_EQ(kept(*loader), before);
    EXPECT_EQ(numbered(**loader->next()), peeked);
    EXPECT_NE(kept(*loader), before);
  }
  EXPECT_FALSE((*loader->peek()).has_value());
  auto closed = load(document(folder.file("a"), R"({"batch": {"size": 10}})"));
  ASSERT_TRUE(closed->peek().ok());
  closed->close();
  EXPECT_EQ(closed->next().error().code(), Code::cancelled);
}

/// A consumer that has up to `depth` batches in its hands before it uses the first of them.
class ReadAhead {
 public:
  ReadAhead(Loader& loader, std::size_t depth) : loader_{loader}, depth_{depth} {}
  std::optional<Batch> next() {
    while (!ended_ && ahead_.size() <= depth_) {
      auto batch = *loader_.next();
      ended_ = !batch;
      if (batch) ahead_.push_back(*std::move(batch));
    }
    if (ahead_.empty()) return std::nullopt;
    const Batch out = ahead_.front();
    ahead_.pop_front();
    return out;
  }

 private:
  Loader& loader_;
  const std::size_t depth_;
  std::deque<Batch> ahead_;
  bool ended_ = false;
};

TEST(BatchPosition, GivesAConsumerThatReadsAheadTheStateOfTheBatchThatItUsed) {
  const Folder folder;
  testing::write_parts(folder, {20, 31, 9}, {.gzip = 1, .zlib = 2});
  for (const std::string& more : testing::boundaries()) {
    const Json json =
        document(folder.file("part-?.tfrecord"), R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 7}})", more);
    auto plain = load(json);
    const auto unbroken = testing::rest(*plain);
    for (const std::size_t depth : {2, 8}) {
      auto loader = load(json, {.threads = 2});
      auto other = load(json);  // one of another process, which gets positions as text
      ReadAhead ahead{*loader, depth};
      for (std::size_t at = 0; auto batch = ahead.next(); ++at) {
        const auto state = loader->state(*batch);
        ASSERT_TRUE(state.ok()) << state.error().text();
        EXPECT_EQ(*other->state_at(testing::parse(batch->position().text())), *state);
        auto again = resumed(json, *state, {.threads = static_cast<std::int64_t>(1 + at % 3)});
        ASSERT_TRUE(again.ok()) << again.error().text();
        ASSERT_EQ(testing::rest(*again),
                  std::vector<std::string>(unbroken.begin() + static_cast<std::ptrdiff_t>(at) + 1, unbroken.end()));
      }
    }
  }
}

TEST(BatchPosition, OfAnotherPlanOrOfOtherShardsIsRefused) {
  const Folder folder;
  for (const char* const name : {"a", "b"}) write_examples(folder.file(name), 0, 24);
  const auto json = [&](int size) {
    return document(folder.file("?"), R"({"batch": {"remainder": "drop", "size": )" + std::to_string(size) + "}}");
  };
  auto loader = load(json(4)), other = load(json(6));
  auto sharded = load(json(4), {.shard_index = 0, .shard_count = 2, .shard_by = ShardBy::file});
  auto neighbour = load(json(4), {.shard_index = 1, .shard_count = 2, .shard_by = ShardBy::file});
  const Batch batch = **loader->next();
  EXPECT_TRUE(loader->state(batch).ok());
  EXPECT_TRUE(neighbour->state(**sharded->next()).ok());
  for (const auto& state : {other->state(batch), sharded->state(batch), loader->state(**sharded->next())}) {
    ASSERT_FALSE(state.ok());
    EXPECT_EQ(state.error().detail(), Detail::invalid_argument);
  }
  for (const char* const text : {"3", "{}", R"({"stream": 3})", R"({"stream": "0", "sections": {}})"})
    EXPECT_EQ(loader->state_at(testing::parse(text)).error().code(), Code::state) << text;
}

}  // namespace
}  // namespace forebay
