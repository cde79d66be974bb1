// SPDX-License-Identifier: Apache-2.0
// Restarts of runs over several sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/state/state_document.h"
#include "tests/pipeline/combinations.h"
#include "tests/pipeline/restarts.h"

namespace forebay::combine_runs {
namespace {

using ::testing::HasSubstr;
using testing::kept;
using testing::rest;
using testing::resumed;

struct Stream {
  Combined combined;
  std::vector<std::string> branches;  // further members of each branch
};

const std::string repeats = R"(, "repeat": true)";
const std::string shuffled = R"(, "steps": [{"shuffle": {"buffer": 20}}])";
const std::string filtered = R"(, "steps": [{"filter": {"where": "id % 3 != 1"}}, {"shuffle": {"buffer": 9}}])";
const std::string global = R"(, "steps": [{"shuffle": {"global": true}}], "repeat": true)";

std::vector<Stream> streams() {
  const std::string passes = R"(, "epochs": 4, "seed": 3)";
  const std::string mixed = R"({"shuffle": {"buffer": 12}}, {"batch": {"size": 5}})";
  return {
      {{.kind = "concat", .steps = mixed, .more = passes}, {"", shuffled, ""}},
      {{.kind = "round_robin", .steps = R"({"batch": {"size": 5}})", .more = passes}, {"", repeats, shuffled}},
      {{.kind = "mix", .options = R"("weights": [5, 1, 2], "until": "all", )", .steps = mixed, .more = passes},
       {shuffled, repeats, ""}},
      {{.kind = "mix", .options = R"("until": 33, )", .steps = mixed, .more = passes}, {repeats, global, filtered}},
      {{.kind = "mix", .steps = mixed, .more = passes + R"(, "epoch_boundary": "hard")"}, {shuffled, repeats, ""}},
      {{.kind = "mix",
        .steps = R"({"batch": {"size": 3}}, {"shuffle_batches": {"buffer": 4}})",
        .more = passes + R"(, "epoch_boundary": "hard")"},
       {shuffled, repeats, ""}},
      {{.kind = "round_robin",
        .steps = R"({"batch": {"size": 3}}, {"shuffle_batches": {"buffer": 4}}, {"batch_slice": {"start": 1}})",
        .more = passes},
       {"", repeats, shuffled}},
      {{.kind = "join", .steps = R"({"batch": {"size": 5, "remainder": "drop"}})", .more = passes}, {"", filtered, ""}},
      {{.kind = "zip", .options = R"("until": "first", )", .steps = mixed, .more = passes},
       {only(R"("id")"), only(R"("x")"), only(R"("tokens", "name")")}}};
}

class CombineRestart : public ::testing::TestWithParam<std::size_t> {};

TEST_P(CombineRestart, AtEveryBatchGivesTheRestOfTheUnbrokenRun) {
  const Folder folder;
  write_branches(folder, {41, 9, 23});
  const Stream stream = streams()[GetParam()];
  std::vector<std::string> branches;
  for (std::size_t i = 0; i < stream.branches.size(); ++i) branches.push_back(branch_of(folder, i, stream.branches[i]));
  const Json json = document_of(stream.combined, branches);
  auto loader = load(json, {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto [unbroken, states] = testing::whole_run(*loader);
  ASSERT_GT(unbroken.size(), 6U) << (unbroken.empty() ? "" : unbroken.back());
  EXPECT_THAT(unbroken.back(), ::testing::Not(HasSubstr("error")));
  EXPECT_EQ(rest(*std::make_unique<Loader>(*load(json, {.threads = 1}))), unbroken);
  EXPECT_EQ(rest(*std::make_unique<Loader>(*load(json, {.threads = 8}))), unbroken);
  for (std::size_t at = 0; at < states.size(); ++at) {
    SCOPED_TRACE(at);
    auto again = resumed(json, states[at], {.threads = static_cast<std::int64_t>(1 + at % 3)});
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(kept(*again), states[at]);
    const auto from = unbroken.begin() + static_cast<std::ptrdiff_t>(std::min(at, unbroken.size()));
    ASSERT_EQ(rest(*again), std::vector<std::string>(from, unbroken.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, CombineRestart, ::testing::Range(std::size_t{0}, streams().size()));

TEST(Combine, AMixOfFiftyPassesRestartsFromTheBeginningOfAPass) {
  const Folder folder;
  write_branches(folder, {31, 12});
  const Json json = document_of({.options = R"("weights": [0.7, 0.3], "until": 20, )",
                                 .steps = R"({"shuffle": {"buffer": 10}}, {"batch": {"size": 8}})",
                                 .more = R"(, "epochs": 50)"},
                                {branch_of(folder, 0, shuffled + repeats), branch_of(folder, 1, repeats)});
  auto loader = load(json, {.threads = 1});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto [unbroken, states] = testing::whole_run(*loader);
  ASSERT_EQ(unbroken.size(), 125U);
  for (std::size_t at = 0; at < unbroken.size(); ++at) {
    SCOPED_TRACE(at);
    auto again = resumed(json, states[at], {.threads = 1, .prefetch = 1});
    ASSERT_TRUE(again.ok()) << again.error().text();
    ASSERT_EQ(rest(*again, 2), std::vector<std::string>(
                                   unbroken.begin() + static_cast<std::ptrdiff_t>(at),
                                   unbroken.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(at + 2, 125))));
    // An epoch of both branches has 43 records. It is read for the place in it, for the pass, and for what comes next.
    EXPECT_LE(again->stats().records, 3 * 43) << "the whole run reads 1,000 records";
    const Json& sections = *states[at].find("sections");
    EXPECT_GE(sections.find("order")->find("epoch")->integer(),
              std::max<std::int64_t>(0, static_cast<std::int64_t>(at) * 8 / 20 - 2));
  }
}

TEST(Combine, AStateOfAnotherCombinationIsRefused) {
  const Folder folder;
  write_branches(folder, {20, 20});
  const std::vector<std::string> branches{branch_of(folder, 0), branch_of(folder, 1)};
  auto loader = load(document_of({.options = R"("weights": [1, 2], )"}, branches));
  ASSERT_TRUE(loader.ok());
  ASSERT_EQ(rest(*loader, 1).size(), 1U);
  const Json state = kept(*loader);
  const auto weights = resumed(document_of({.options = R"("weights": [2, 1], )"}, branches), state);
  ASSERT_FALSE(weights.ok());
  EXPECT_THAT(
      weights.error().text(),
      HasSubstr("the weights of the mixture are others than those of the run that saved the state, [1,2], which "
                "stands before row 8 of pass 0; accept 'weights'"));
  const auto until = resumed(document_of({.options = R"("weights": [1, 2], "until": 7, )"}, branches), state);
  ASSERT_FALSE(until.ok());
  EXPECT_THAT(until.error().text(), HasSubstr("ended with `until` \"first\" in the run that saved the state; accept "
                                              "'until' to end them otherwise from the pass behind 0 on"));
  const auto steps =
      resumed(document_of({.options = R"("weights": [1, 2], )"}, {branches[0], branch_of(folder, 1, shuffled)}), state);
  ASSERT_FALSE(steps.ok());
  EXPECT_THAT(steps.error().text(), HasSubstr("what differs: branch/1"));
}

TEST(Combine, ARestartGoesOnWithOtherWeightsThatAreAccepted) {
  const Folder folder;
  write_branches(folder, {20, 20});
  const std::vector<std::string> branches{branch_of(folder, 0), branch_of(folder, 1)};
  auto before = load(document_of({.options = R"("weights": [1, 1], "until": "all", )"}, branches));
  ASSERT_TRUE(before.ok());
  const auto first = rest(*before, 2);
  const Json state = kept(*before);
  const Json other = document_of({.options = R"("weights": [1, 9], "until": "all", )"}, branches);
  auto loader = load(other);
  ASSERT_TRUE(loader.ok());
  const auto unknown = loader->restore(state, std::vector<std::string>{"weight"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().text(), "accept: must be \"weights\", \"until\" or \"branches\", found 'weight'");
  const auto accepted = loader->restore(state, std::vector<std::string>{"weights"});
  ASSERT_TRUE(accepted.ok()) << accepted.error().text();
  const Json changed = kept(*loader);
  const auto text = state_text(changed);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text,
              HasSubstr("branches: 2, weights [1,9], until \"all\"\n  before row 16 of pass 0: 2, weights [1,1], "
                        "until \"all\""));
  const auto later = rest(*loader);
  EXPECT_NE(later, rest(*before)) << "the weights are others";
  auto again = resumed(other, changed);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(rest(*again), later);
}

TEST(Combine, AForgedStateOfAChangedMixtureIsRefused) {
  const Folder folder;
  write_branches(folder, {20, 20});
  const Json json = document_of({.options = R"("weights": [1, 1], )"}, {branch_of(folder, 0), branch_of(folder, 1)});
  auto loader = load(json);
  ASSERT_TRUE(loader.ok());
  ASSERT_EQ(rest(*loader, 1).size(), 1U);
  const auto written = plan::read_document(kept(*loader));
  ASSERT_TRUE(written.ok());
  using Values = std::vector<std::pair<std::string, std::int64_t>>;
  const auto section = [](std::string stage, Values values, std::string options) {
    return engine::Section{.stage = std::move(stage), .values = std::move(values), .texts = {{"options", options}}};
  };
  const auto change = [&](std::int64_t number, std::int64_t row, std::int64_t branches) {
    return section("mixture/" + std::to_string(number), {{"branches", branches}, {"pass", 0}, {"row", row}}, "[1,1]");
  };
  const auto now = [&](std::int64_t branches) { return section("mixture", {{"branches", branches}}, "[1,1]"); };
  const std::vector<std::vector<engine::Section>> forged{
      {now(200)},
      {now(1)},
      {now(0)},
      {now(2), now(2)},
      {change(0, 8, 2)},
      {now(2), change(1, 8, 2)},
      {now(2), change(0, 8, 3)},
      {now(2), change(0, 8, 2), change(1, 8, 2)},
      {now(2), change(0, 8, 2), change(1, 9, 1)},
      {now(2), section("mixture/0", {{"branches", 2}, {"pass", 0}, {"row", 8}}, "[1,")},
      {now(2), section("mixture/0", {{"branches", 2}, {"pass", 0}, {"row", 8}}, "[1,-3]")},
      {now(2), section("mixture/0", {{"branches", 2}, {"pass", 0}}, "[1,1]")},
  };
  for (std::size_t i = 0; i < forged.size(); ++i) {
    SCOPED_TRACE(i);
    plan::State state = *written;
    std::erase_if(state.sections, [](const engine::Section& each) { return each.stage.starts_with("mixture"); });
    state.sections.insert(state.sections.end(), forged[i].begin(), forged[i].end());
    const auto text = plan::document_of(state);
    ASSERT_TRUE(text.ok());
    const auto restored = loader->restore(*text);
    ASSERT_FALSE(restored.ok());
    EXPECT_EQ(restored.error().code(), Code::state);
    EXPECT_THAT(restored.error().text(), HasSubstr("corrupt state"));
  }
  EXPECT_TRUE(loader->restore(*plan::document_of(*written)).ok());
}

TEST(State, OfACombinationSaysWhereEachBranchStands) {
  const auto at = [](std::vector<engine::BranchCursor> branches) {
    return engine::Position{.epoch = 2, .batch = 5, .next = 9, .from = 2, .branches = std::move(branches)};
  };
  const std::vector<engine::Section> sections = engine::sections_of(at({{.epoch = 3, .taken = 7}, {}, {}}));
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[1], (engine::Section{"combine", {{"branches", 3}}, {{"cursors", "3:7 2*0:0"}}}));
  for (const auto& branches : std::vector<std::vector<engine::BranchCursor>>{
           {{3, 7}, {}, {}}, {{0, 1}}, {{1, 0}, {1, 0}}, {{1, 2}, {1, 2}, {2, 1}, {1, 2}}}) {
    EXPECT_EQ(*engine::position_of(engine::sections_of(at(branches))), at(branches));
  }
  const std::string fault = "corrupt state: section 'combine' must say where each of its 3 branches stands";
  for (const char* const cursors :
       {"", "3*", "3:7", "3:7 0:0", "3:7 0:0 0:0", "3:7 3*0:0", "3:7 2*0:0 ", " 3:7 2*0:0", "3:7  2*0:0", "3:7 2*0:00",
        "3:7 2*-1:0", "3:7 2*0", "3:7 2*0:a", "3:7 0*0:0", "3:7 2*0:0 x", "9999999999*0:0", "+3:7 2*0:0"}) {
    std::vector<engine::Section> other = sections;
    other[1].texts.front().second = cursors;
    const auto read = engine::position_of(other);
    ASSERT_FALSE(read.ok()) << cursors;
    EXPECT_EQ(read.error().message(), fault) << cursors;
  }
  std::vector<engine::Section> other = sections;
  other[1].texts.clear();
  EXPECT_EQ(engine::position_of(other).error().message(), fault);
  other = sections;
  other[1].values.front().second = 0;
  EXPECT_THAT(engine::position_of(other).error().message(), HasSubstr("each of its 0 branches"));
  other = sections;
  other[1].values.emplace_back("more", 1);
  EXPECT_THAT(engine::position_of(other).error().message(), HasSubstr("has a member 'more', which no state has"));
}

TEST(State, OfFortyBranchesHasAtMost1500Bytes) {
  const Folder folder;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> branches;
  std::string weights;
  for (int i = 0; i < 40; ++i) {
    sizes.push_back(50 + i % 7);
    branches.push_back(branch_of(folder, static_cast<std::size_t>(i), shuffled));
    weights += (i == 0 ? "" : ", ") + std::to_string(i + 1);
  }
  write_branches(folder, sizes);
  const Json json = document_of({.options = R"("until": "first", "weights": [)" + weights + "], ",
                                 .steps = R"({"batch": {"size": 64}})",
                                 .more = R"(, "epochs": 9)"},
                                branches);
  auto loader = load(json, {.threads = 2});
  ASSERT_TRUE(loader.ok());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(loader->next().ok());
  const Json state = kept(*loader);
  EXPECT_GT(state.find("sections")->find("order")->find("epoch")->integer(), 0);
  EXPECT_LE(state.text().size(), 1500U) << state.text();
  EXPECT_TRUE(resumed(json, state).ok());
}

}  // namespace
}  // namespace forebay::combine_runs
