// SPDX-License-Identifier: Apache-2.0
// What is refused of batches whose rows follow sequences: documents, shards, values, states.
#include "engine/program/saved_states.h"
#include "plan/state/state.h"
#include "tests/pipeline/stateful_runs.h"

namespace forebay {
namespace {

using stateful_runs::sequences_document;
using stateful_runs::StatefulRuns;
using stateful_runs::tensor_of;
using stateful_runs::trained;
using stateful_runs::TrainedLines;
using stateful_runs::write_sequences;
using testing::Folder;
using ::testing::HasSubstr;
using testing::kept;

std::string plan_fault(const Json& json, RunOptions options = {}) {
  const auto loader = load(json, options);
  return loader.ok() ? "none" : loader.error().text();
}

TEST_F(StatefulRuns, RefusesValuesOfAnotherTypeOrShapeAndUnknownNames) {
  auto loader = load(document());
  const Batch batch = **loader->next();
  std::vector<float> floats(8);
  std::vector<std::int64_t> three(3);
  EXPECT_THAT(batch.save_state("sum", tensor_of(floats)).error().text(),
              HasSubstr("state 'sum' of batch 0: found float32[4,2], allowed is int64[4]"));
  EXPECT_THAT(batch.save_state("sum", tensor_of(three)).error().text(),
              HasSubstr("found int64[3], allowed is int64[4]"));
  EXPECT_THAT(batch.state("sun").error().text(),
              HasSubstr("there is no state 'sun'; did you mean 'sum'? declared are"));
  auto plain = load(sequences_document(folder_, R"({"unroll": {"num_unroll": 3}}, {"batch": {"size": 2}})"));
  ASSERT_TRUE(plain.ok()) << plain.error().text();
  EXPECT_THAT((**plain->next()).state("sum").error().text(), HasSubstr("the plan declares none"));
}

TEST_F(StatefulRuns, StatesOfAnotherDeclarationBelongToAnotherPlan) {
  auto loader = load(document());
  trained(*loader, 2);
  const auto refused = load(document("", R"({"shuffle": {"buffer": 9}})", R"("states": {"sum": {"dtype": "int64"}})"))
                           ->restore(kept(*loader));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("what differs: steps/2 (stateful)"));
}

TEST_F(StatefulRuns, ACorruptSectionIsRefused) {
  auto loader = load(document());
  trained(*loader, 2);
  const Json state = kept(*loader);
  const Json& saver = *state.find("sections")->find("saver");
  const auto refusal = [&](const std::string& member, const Json& value) {
    Json changed = saver;
    changed.set(member, value);
    engine::Section section{.stage = "saver", .values = {}};
    for (const auto& [name, json] : changed.members()) {
      if (json.is(Json::Kind::string))
        section.texts.emplace_back(name, json.string());
      else
        section.values.emplace_back(name, json.integer());
    }
    auto position = *engine::position_of({engine::sections_of({.next = 2}).front()});
    const auto saved = engine::read_saver(section);
    if (!saved.ok()) return saved.error().text();
    position.saved = std::make_shared<const engine::SavedStates>(*saved);
    const auto written = plan::write_state(loader->plan(), {}, testing::sizes_now(loader->plan()), position);
    const auto done = loader->restore(*written);
    return done.ok() ? std::string{"none"} : done.error().text();
  };
  EXPECT_EQ(refusal("first", Json{0}), "none");
  EXPECT_THAT(refusal("live", Json{"01x1"}), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(refusal("live", Json{"00000"}), HasSubstr("has 5 rows from row 0 on, of 4"));
  EXPECT_THAT(refusal("live", Json{"0000"}), HasSubstr("does not fit the rows and states"));
  EXPECT_THAT(refusal("live", Json{"010"}), HasSubstr("does not fit the rows and states"));
  EXPECT_THAT(refusal("lanes", Json{std::int64_t{1} << 40}), HasSubstr("of 1099511627776"));
  EXPECT_THAT(refusal("first", Json{1}), HasSubstr("has 4 rows from row 1 on, of 4"));
  EXPECT_THAT(refusal("state/sum", Json{"AAAA"}), HasSubstr("does not fit the rows and states"));
  EXPECT_THAT(refusal("state/sum", Json{"AA*A"}), HasSubstr("'state/sum' that is no base64 text"));
  EXPECT_THAT(refusal("state/other", Json{"AAAA"}), HasSubstr("does not fit the rows and states"));
  EXPECT_THAT(refusal("more", Json{"AAAA"}), HasSubstr("'more' that is no base64"));
  Json edited = state;
  Json sections = *state.find("sections");
  Json other = saver;
  other.set("live", Json{"1111"});
  sections.set("saver", other);
  edited.set("sections", sections);
  EXPECT_THAT(loader->restore(edited).error().text(), HasSubstr("its checksum is wrong"));
  Json order = *sections.find("order");
  order.set("next", Json{"two"});
  sections.set("order", order);
  edited.set("sections", sections);
  EXPECT_EQ(loader->restore(edited).error().code(), Code::state);
}

TEST_F(StatefulRuns, AStateThatWasEditedAnywhereIsRefused) {
  auto loader = load(document());
  trained(*loader, 3);
  const Json state = kept(*loader);
  EXPECT_THAT(*state_text(state), HasSubstr("saved states: of "));
  const std::string text = state.text();
  std::size_t edited = 0;
  for (std::size_t i = text.find("saver"); i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    const auto json = parse_state(other);
    if (!json.ok()) continue;
    const auto done = loader->restore(*json);
    ASSERT_FALSE(done.ok()) << other;
    EXPECT_EQ(done.error().code(), Code::state) << done.error().text();
    ++edited;
  }
  EXPECT_GT(edited, 50U);
  EXPECT_EQ(kept(*loader), state) << "the run stands where it stood";
}

TEST_F(StatefulRuns, NeedsTheSegmentsOfUnrollInTheirOrder) {
  const auto fault = [&](const std::string& steps) { return plan_fault(sequences_document(folder_, steps)); };
  const std::string unroll = R"({"unroll": {"num_unroll": 3}})", stateful = R"({"stateful": {"batch_size": 4}})";
  EXPECT_THAT(fault(stateful), HasSubstr(R"(put {"unroll": {"num_unroll": …}} directly before it)"));
  EXPECT_THAT(fault(R"({"chunk": {"size": 3}}, )" + stateful), HasSubstr("in place of the other window steps"));
  EXPECT_THAT(fault(unroll + R"(, {"shuffle": {"buffer": 8}}, )" + stateful),
              HasSubstr("'shuffle' stands between 'unroll' and 'stateful'"));
  EXPECT_THAT(fault(unroll + "," + stateful + R"(, {"shuffle_batches": {"buffer": 3}})"),
              HasSubstr("'shuffle_batches' moves batches"));
  EXPECT_THAT(fault(unroll + R"(, {"stateful": {"batch_size": 4097}})"), HasSubstr("batch_size"));
  EXPECT_THAT(
      fault(unroll + R"(, {"stateful": {"batch_size": 4, "states": {"h": {"dtype": "int8", "initial": 300}}}})"),
      HasSubstr("state 'h'"));
  EXPECT_EQ(fault(unroll + R"(, {"cast": {"tensor": "x", "dtype": "float32"}}, )" + stateful), "none");
}

TEST_F(StatefulRuns, IsSharedOutByRowsOnly) {
  for (const ShardBy by : {ShardBy::file, ShardBy::element, ShardBy::batch})
    EXPECT_THAT(plan_fault(document(), {.shard_index = 0, .shard_count = 2, .shard_by = by}),
                HasSubstr("shard by rows"));
  EXPECT_THAT(plan_fault(document(R"(, "shard": {"index": 0, "count": 2, "by": "element"})")),
              HasSubstr("shard by rows"));
  EXPECT_EQ(plan_fault(document(R"(, "shard": [1, 2])")), "none");
}

TEST_F(StatefulRuns, StatesBeyondTheMemoryAreRefusedAtTheStart) {
  const Json json = document("", R"({"shuffle": {"buffer": 9}})",
                             R"("states": {"h": {"dtype": "float32", "shape": [1000000000, 1000000000]}})");
  EXPECT_THAT(plan_fault(json), HasSubstr("more than a quarter of the memory budget"));
}

TEST_F(StatefulRuns, ASequenceWithoutFramesIsAnErrorUnlessItIsFilteredOut) {
  write_sequences(folder_.file("a"), {4, 0, 5});
  const auto run = [&](const std::string& filter) {
    auto loader =
        load(sequences_document(folder_, filter + R"({"unroll": {"num_unroll": 3}}, {"stateful": {"batch_size": 1}})"));
    return testing::rest(*loader);
  };
  EXPECT_EQ(run(R"({"filter": {"where": "length(x) > 0"}}, )").size(), 4U);
  const TrainedLines broken = run("");
  ASSERT_EQ(broken.size(), 3U) << "the batches before it come first";
  EXPECT_THAT(broken.back(), HasSubstr("record 1: the sequence has no frames"));
}

}  // namespace
}  // namespace forebay
