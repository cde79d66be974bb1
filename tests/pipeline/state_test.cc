// SPDX-License-Identifier: Apache-2.0
// Tests of states that do not fit the run, and of texts that are not states.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "engine/program/program.h"
#include "plan/state/state.h"
#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::boundaries;
using testing::document;
using testing::Folder;
using testing::kept;
using testing::orders;
using testing::rest;
using testing::write_examples;
using testing::write_five;

struct Saved {
  Folder folder;
  Json json;
  Json state;
};

void save(Saved& out) {
  write_five(out.folder);
  out.json = document(out.folder.file("part-?.tfrecord"), orders()[1], boundaries()[0]);
  auto pipeline = load(out.json);
  static_cast<void>(rest(*pipeline, 5));
  out.state = kept(*pipeline);
}

std::string refusal(const Json& json, const Json& state) {
  auto pipeline = load(json);
  const auto done = pipeline->restore(state);
  if (done.ok()) return "";
  return std::string{to_string(done.error().code())} + " " + std::string{to_string(done.error().detail())} + ": " +
         done.error().message();
}

TEST(State, IsSmallAndSurvivesAnyJsonLibrary) {
  Saved saved;
  save(saved);
  EXPECT_LE(saved.state.text().size(), 4096U);
  std::vector<Json::Member> members = saved.state.members();
  std::reverse(members.begin(), members.end());
  EXPECT_EQ(refusal(saved.json, Json::object(members)), "");
}

TEST(State, OfAnotherPlanIsRefusedWithWhatDiffers) {
  Saved saved;
  save(saved);
  const auto with = [&](const std::string& steps, const std::string& more) {
    return refusal(document(saved.folder.file("part-?.tfrecord"), steps, more), saved.state);
  };
  const std::string start = "state failed_precondition: the state belongs to another plan; what differs: ";
  EXPECT_EQ(with(orders()[1], R"(, "epochs": 3, "seed": 6)"), start + "seed");
  for (const char* const epochs : {"2", "4", "null"})
    EXPECT_EQ(with(orders()[1], std::string{R"(, "seed": 5, "epochs": )"} + epochs), "") << "epochs may differ";
  EXPECT_EQ(with(R"({"shuffle": {"buffer": 40}}, {"batch": {"size": 12}})", boundaries()[0]),
            start + "steps/1 (batch)");
  EXPECT_EQ(with(R"({"batch": {"size": 12, "remainder": "drop"}})", boundaries()[0]),
            start + "steps/0 (shuffle), steps/1 (batch), steps/0 (batch)");
  EXPECT_EQ(with(orders()[1], boundaries()[0] + R"(, "threads": 3, "prefetch": 2, "memory": "64MiB")"), "");
}

std::string has(const std::string& name, std::uintmax_t now, std::uintmax_t before) {
  return "'" + name + "' has " + std::to_string(now) + " bytes, it had " + std::to_string(before);
}

TEST(State, OfOtherFilesIsRefused) {
  Saved saved;
  save(saved);
  const std::string part = saved.folder.file("part-0.tfrecord");
  const auto before = std::filesystem::file_size(part);
  write_examples(part, 0, 61);
  const std::string refused = refusal(saved.json, saved.state);
  const std::string expected = "state failed_precondition: the files have changed since the state was saved: " +
                               has("part-0.tfrecord", std::filesystem::file_size(part), before) + "; then 5 files";
  EXPECT_EQ(refused.substr(0, expected.size()), expected);
}

std::string changed_files(const std::string& what, const std::string& then, const std::string& now) {
  return "state failed_precondition: the files have changed since the state was saved: " + what + "; then " + then +
         ", now " + now + "; a restart would give other records";
}

std::string files_of(int count, std::uintmax_t bytes) {
  return std::to_string(count) + (count == 1 ? " file with " : " files with ") + std::to_string(bytes) + " bytes";
}

TEST(State, KnowsTheSizesThatTheRunBeganWith) {
  const Folder folder;
  for (const char* const name : {"a", "b"}) write_examples(folder.file(name), 0, 10);
  const Json json = document(folder.file("?"), R"({"batch": {"size": 4}})");
  const std::uintmax_t size = std::filesystem::file_size(folder.file("a"));
  auto pipeline = load(json);
  static_cast<void>(rest(*pipeline, 3));
  for (const std::int64_t records : {9, 12}) {  // it is read already, and grows or shrinks only then
    write_examples(folder.file("a"), 0, records);
    const std::uintmax_t now = std::filesystem::file_size(folder.file("a"));
    EXPECT_EQ(refusal(json, kept(*pipeline)),
              changed_files(has("a", now, size), files_of(2, 2 * size), files_of(2, size + now)));
    EXPECT_EQ(kept(*pipeline).find("data")->find("bytes")->integer(), static_cast<std::int64_t>(2 * size));
  }
  write_examples(folder.file("a"), 0, 10);
  EXPECT_EQ(refusal(json, kept(*pipeline)), "");
  EXPECT_TRUE(pipeline->restore(kept(*pipeline)).ok());
}

TEST(State, HasTheSizeOfAFileAtItsOpeningAndUntilThenOfTheFirstState) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 400);
  write_examples(folder.file("b"), 0, 10);
  const auto size = [&](const char* name) { return std::filesystem::file_size(folder.file(name)); };
  auto pipeline = load(document(folder.file("?"), R"({"batch": {"size": 4}})"), {.threads = 1, .prefetch = 1});
  static_cast<void>(rest(*pipeline, 1));  // of `a`; `b` is not open
  const std::uintmax_t opened = size("a");
  const auto bytes = [&] { return kept(*pipeline).find("data")->find("bytes")->integer(); };
  write_examples(folder.file("b"), 0, 20);
  const auto asked = static_cast<std::int64_t>(opened + size("b"));
  EXPECT_EQ(bytes(), asked);
  write_examples(folder.file("b"), 0, 30);
  EXPECT_EQ(bytes(), asked);
  EXPECT_EQ(rest(*pipeline).size(), 107U);
  const auto read = static_cast<std::int64_t>(opened + size("b"));
  EXPECT_EQ(bytes(), read);
  write_examples(folder.file("b"), 0, 40);
  EXPECT_EQ(bytes(), read);
}

TEST(State, IsThereThoughAFileIsNot) {
  const Folder folder;
  for (const char* const name : {"a", "c"}) write_examples(folder.file(name), 0, 5);
  const std::string files = folder.file("a") + R"(", ")" + folder.file("b") + R"(", ")" + folder.file("c");
  const Json json = document(files, R"({"batch": {"size": 4}})", R"(, "on_corrupt": "skip_file")");
  const std::uintmax_t size = std::filesystem::file_size(folder.file("a"));
  auto unbroken = load(json);
  const auto all = rest(*unbroken);
  for (std::int64_t batches = 0; batches <= 3; ++batches) {
    auto pipeline = load(json);
    static_cast<void>(rest(*pipeline, batches));
    const Json state = kept(*pipeline);
    auto again = testing::resumed(json, state);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(rest(*again), std::vector<std::string>(all.begin() + batches, all.end()));
    write_examples(folder.file("b"), 0, 0);
    EXPECT_EQ(refusal(json, state),
              changed_files("'b' was missing, it has 0 bytes", files_of(2, 2 * size), files_of(3, 2 * size)));
    std::filesystem::remove(folder.file("b"));
    auto deleted = load(json);
    static_cast<void>(rest(*deleted, batches));
    const Json before = kept(*deleted);
    std::filesystem::rename(folder.file("c"), folder.file("elsewhere"));
    EXPECT_EQ(refusal(json, before), changed_files("'c' is missing, it had " + std::to_string(size) + " bytes",
                                                   files_of(2, 2 * size), files_of(1, size)));
    std::filesystem::rename(folder.file("elsewhere"), folder.file("c"));
  }
}

TEST(State, OfAnyNumberOfStagesHasAtMost4096BytesAndSaysWhatDiffers) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 10);
  const auto with = [&](int stages, int last) {
    std::string steps;
    for (int i = 1; i < stages; ++i)
      steps += R"({"take": {"count": )" + std::to_string(i + 1 < stages ? 1000 + i : last) + "}}, ";
    return document(folder.file("a"), steps + R"({"batch": {"size": 2}})");
  };
  for (const int stages : {31, 32, 33, 101, 1000}) {
    const Json json = with(stages, 7);
    auto pipeline = load(json);
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    static_cast<void>(rest(*pipeline, 1));
    const Json state = kept(*pipeline);
    EXPECT_LE(state.text().size(), 4096U) << stages;
    EXPECT_EQ(refusal(json, state), "");
    const std::string name = stages > 33 ? "steps/32 and later" : "steps/" + std::to_string(stages - 2) + " (take)";
    EXPECT_EQ(refusal(with(stages, 8), state),
              "state failed_precondition: the state belongs to another plan; what differs: " + name);
  }
}

TEST(State, OfABatchThatItsEpochDoesNotHaveIsAnErrorAndNotASearchForIt) {
  const Folder folder;
  write_five(folder);
  for (const std::string& order : orders()) {
    for (const char* boundary : {"straddle", "hard"}) {
      const Json json = document(folder.file("part-?.tfrecord"), order,
                                 std::string{R"(, "epochs": null, "epoch_boundary": ")"} + boundary + "\"");
      auto pipeline = load(json);
      ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
      const auto sizes = testing::sizes_now(pipeline->plan());
      const auto state =
          plan::write_state(pipeline->plan(), {}, sizes, {.epoch = 2, .batch = 60, .next = INT64_MAX / 2});
      ASSERT_TRUE(state.ok()) << state.error().text();
      ASSERT_TRUE(pipeline->restore(*state).ok());
      const auto batch = pipeline->next();
      ASSERT_FALSE(batch.ok());
      EXPECT_EQ(batch.error().code(), Code::state);
      EXPECT_EQ(batch.error().message().substr(0, 78),
                "the state stands before batch 4611686018427387903 in epoch 2, but that epoch e");
    }
  }
}

/// A run that goes on from there: the reason why it does not, or how it ended.
std::string outcome(const Plan& plan, const engine::Shard& shard, const engine::Position& position) {
  const auto sizes = testing::sizes_now(plan);
  const auto state = plan::write_state(plan, shard, sizes, position);  // with the right checksum
  if (!state.ok()) return "not written: " + state.error().text();
  auto pipeline = Loader::start(
      plan,
      {.threads = 1, .memory = 16 << 20, .shard_index = shard.index, .shard_count = shard.count, .shard_by = shard.by});
  if (const auto done = pipeline->restore(*state); !done.ok())
    return std::string{to_string(done.error().code())} + ": " + done.error().message();
  for (int batches = 0;; ++batches) {
    const auto batch = pipeline->next();
    if (!batch.ok()) return std::string{to_string(batch.error().code())} + ": " + batch.error().message();
    if (!*batch || batches == 30) return "";  // an endless run does not end
  }
}

TEST(State, OfAnyPositionWithTheRightChecksumIsRefusedOrRunsToItsEnd) {
  const Folder folder;
  testing::write_parts(folder, {9, 0, 21}, {.gzip = 2, .zlib = 3});
  constexpr std::int64_t max = INT64_MAX;
  const std::vector<std::int64_t> all{-max - 1, -1, 0, 1, 2, 3, max - 1, max};
  const std::vector<std::int64_t> few{-1, 0, 1, 3, max};
  const std::vector<std::int64_t>& small = tests::how_much(true, false, false) ? all : few;
  std::map<bool, int> ends;
  for (const char* const more :
       {R"(, "epochs": 2)", R"(, "epochs": null)", R"(, "epochs": 2, "epoch_boundary": "hard")"}) {
    for (const char* const remainder : {"keep", "repeat"}) {
      const auto plan = Plan::make(document(
          folder.file("part-?.tfrecord"),
          std::string{R"({"shuffle": {"buffer": 5}}, {"batch": {"size": 4, "remainder": ")"} + remainder + "\"}}",
          more));
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      for (const std::int64_t epoch :
           {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{INT32_MAX}, max}) {
        for (const std::int64_t batch : small) {
          for (const std::int64_t pulled :
               {-max - 1, std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, max}) {
            for (const std::int64_t next : small) {
              const std::string end =
                  outcome(*plan, {}, {.epoch = epoch, .batch = batch, .pulled = pulled, .next = next});
              ASSERT_TRUE(end.empty() || end.starts_with("state: ")) << end;
              ++ends[end.empty()];
            }
          }
        }
      }
    }
  }
  EXPECT_GT(ends[true], 50);
  EXPECT_GT(ends[false], 4'000);
}

TEST(State, WhosePositionContradictsItselfSaysInWhat) {
  const Folder folder;
  write_examples(folder.file("a"), 0, 30);
  const auto plan = Plan::make(document(folder.file("a"), R"({"batch": {"size": 4}})", R"(, "epochs": 3)"));
  const auto refused = [&](const engine::Position& position) {
    const std::string end = outcome(*plan, {}, position);
    const std::string start = "state: corrupt state: its position contradicts itself: ";
    return end.starts_with(start) ? end.substr(start.size(), end.find(';') - start.size()) : end;
  };
  EXPECT_EQ(refused({.epoch = 1, .batch = 7, .pulled = 2, .next = 7}),
            "a batch of which something was pulled in an earlier epoch lies before 'next'");
  EXPECT_EQ(refused({.epoch = 0, .batch = 0, .pulled = 3, .next = 0}),
            "epoch 0 begins with batch 0, of which nothing was pulled before");
  EXPECT_EQ(refused({.epoch = 1, .batch = 8, .next = 7}), "'next' is at least 'batch'");
  EXPECT_EQ(refused({.epoch = 1, .batch = 7, .pulled = 4, .next = 8}), "'pulled' is less than a batch, 4 rows");
  EXPECT_EQ(
      refused({.epoch = 4, .batch = 7, .next = 8}),
      "state: the state stands in epoch 4, and this plan has 3 epochs, counted from 0: nothing is left of it; set "
      "`epochs` to 5 or more");
  EXPECT_EQ(refused({.epoch = 1, .batch = 7, .next = 8, .cut_short = 2}),
            "a batch that was cut short is the last one of an epoch");
  EXPECT_EQ(refused({.epoch = 1, .batch = 7, .next = 7, .cut_short = 4}), "'cut_short' is less than a batch, 4 rows");
  EXPECT_EQ(refused({.from = 100'001}), "'from' is at most 100000 epochs after 'epoch'");
  EXPECT_EQ(refused({.begun = 2}), "'begun' is 0 or 1");
  EXPECT_EQ(refused({.epoch = 1, .batch = 7, .next = INT64_MAX}), "'next' is at most 4611686018427387903");
  EXPECT_EQ(refused({.done = 1'000'001}), "'done' is at most 1000000");
}

TEST(State, ThatIsNoneIsRefused) {
  Saved saved;
  save(saved);
  EXPECT_EQ(refusal(saved.json, Json::object()),
            "state invalid_argument: this is no state of a Forebay pipeline: it has no member 'version'");
  Json newer = saved.state;
  newer.set("version", 5);
  EXPECT_EQ(refusal(saved.json, newer),
            "state failed_precondition: the state has version 5, this Forebay knows version 4; use the Forebay that "
            "wrote it, or a newer one");
  EXPECT_EQ(refusal(saved.json, testing::parse(R"({"forebay_state": 2, "position": {}, "data": {}, "plan": {}})")),
            "state failed_precondition: the state was written by an older Forebay, whose states this one does not read "
            "(it reads version 4); let that Forebay finish the run, or begin the run anew");
}

TEST(State, WithASectionOfAStageThatTheRunDoesNotHaveNamesTheSection) {
  EXPECT_EQ(engine::position_of({{.stage = "order", .values = {}}}).error().message(),
            "corrupt state: 'epoch' must be an integer, found nothing");
  const engine::Position at{.epoch = 2, .batch = 5, .pulled = 1, .next = 9, .from = 2, .begun = 1, .done = 7};
  std::vector<engine::Section> sections = engine::sections_of(at);
  EXPECT_EQ(*engine::position_of(sections), at);
  sections.push_back({.stage = "joiner", .values = {{"taken", 3}}});
  EXPECT_EQ(engine::position_of(sections).error().message(),
            "the state has a section 'joiner', which this Forebay does not know; use the Forebay that wrote it, or a "
            "newer one");
  EXPECT_EQ(engine::position_of({}).error().message(), "corrupt state: it has no section 'order'");
}

TEST(State, ThatWasEditedAnywhereIsRefused) {
  Saved saved;
  save(saved);
  const std::string text = saved.state.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; bit += tests::how_much(1, 5, 5)) {
      std::string corrupt = text;
      corrupt[at] = static_cast<char>(corrupt[at] ^ (1 << bit));
      const auto json = parse_json(corrupt);
      if (!json.ok() || *json == saved.state) continue;
      EXPECT_NE(refusal(saved.json, *json), "") << corrupt;
    }
  }
}

std::vector<std::pair<std::string, std::int64_t>> with_one_more() {
  auto values = engine::sections_of({}).front().values;
  values.emplace_back("rank", 1);
  return values;
}

TEST(State, WithAMemberThatNoStateHasIsRefused) {
  Saved saved;
  save(saved);
  Json more = saved.state;
  more.set("more", 3);
  EXPECT_EQ(refusal(saved.json, more), "state data_loss: corrupt state: it has a member 'more', which no state has");
  Json deeper = saved.state;
  Json sections = *deeper.find("sections");
  Json order = *sections.find("order");
  order.set("rank", 1);
  sections.set("order", order);
  deeper.set("sections", sections);
  EXPECT_EQ(refusal(saved.json, deeper),
            "state data_loss: corrupt state: its checksum is wrong; it was edited or not written whole");
  EXPECT_EQ(engine::position_of({{.stage = "order", .values = with_one_more()}}).error().message(),
            "corrupt state: section 'order' has a member 'rank', which no state has");
}

TEST(State, IsNotThereWhenTheOrderDependsOnTiming) {
  Saved saved;
  save(saved);
  auto pipeline = load(document(saved.folder.file("part-?.tfrecord"), orders()[1], R"(, "deterministic": false)"));
  const auto state = pipeline->state();
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error().code(), Code::state);
}

TEST(State, CanBeLoadedIntoARunningPipelineAgainAndAgain) {
  Saved saved;
  save(saved);
  auto pipeline = load(saved.json, {.threads = 3});
  const auto all = rest(*pipeline);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pipeline->restore(saved.state).ok());
    EXPECT_EQ(rest(*pipeline, i), std::vector<std::string>(all.begin() + 5, all.begin() + 5 + i));
  }
  pipeline->close();
  EXPECT_EQ(pipeline->restore(saved.state).error().code(), Code::cancelled);
}

}  // namespace
}  // namespace forebay
