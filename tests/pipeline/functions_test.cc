// SPDX-License-Identifier: Apache-2.0
// Functions of the program: orders and sizes of batches that a thread of the program gives.
#include <chrono>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"
#include "tests/support/answering.h"
#include "tests/support/how_much.h"

namespace forebay {
namespace {

using testing::Answering;
using testing::Folder;
using ::testing::HasSubstr;
using testing::kept;
using testing::parse;
using testing::rest;
using Integers = Function::Integers;

/// Epoch e begins with record e, goes on in steps of 7, and gives record 3 twice.
Result<Integers> strided(const Integers& question) {
  Integers out;
  for (std::int64_t i = 0; i < question[1]; ++i) out.push_back((question[0] + 7 * i) % question[1]);
  out.push_back(3);
  return out;
}

/// Batch k has k mod 5 rows.
Result<Integers> growing(const Integers& question) { return Integers{question[0] % 5}; }

Json files_document(const Folder& folder, const std::string& steps, const std::string& rest = "") {
  return testing::document(folder.file("part-*"), steps, rest);
}

std::vector<std::int64_t> ids_of(Result<Loader> loader) {
  std::vector<std::int64_t> out;
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  while (loader.ok()) {
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) break;
    const auto ids = (*batch)->tensor("id").as<std::int64_t>();
    out.insert(out.end(), ids.begin(), ids.end());
  }
  return out;
}

TEST(Functions, AnOrderGivesTheRecordsOfEveryEpochAsTheFunctionSays) {
  const Folder folder;
  testing::write_five(folder);
  const Answering answers{strided};
  const Json json =
      files_document(folder, R"({"reorder": {"bind": "f"}}, {"batch": {"size": 12}})", R"(, "epochs": 2)");
  const auto by_number = ids_of(load(files_document(folder, R"({"batch": {"size": 12}})")));
  const auto records = std::ssize(by_number);
  std::vector<std::int64_t> expected;
  for (const std::int64_t epoch : {0, 1}) {
    const auto order = strided({epoch, records});
    for (const std::int64_t number : *order) expected.push_back(by_number[static_cast<std::size_t>(number)]);
  }
  EXPECT_EQ(ids_of(load(json, {.threads = 1}, ".", answers.bindings())), expected);
  EXPECT_EQ(ids_of(load(json, {.threads = 8}, ".", answers.bindings())), expected);
  EXPECT_EQ(answers.asked(), (std::set<Integers>{{0, records}, {1, records}}));
}

TEST(Functions, AnOrderOfFilesReadsThemOneAfterTheOther) {
  const Folder folder;
  testing::write_parts(folder, {2, 0, 3}, {});
  const Answering answers{[](const Integers& question) -> Result<Integers> {
    return question[0] == 0 ? Integers{2, 1, 0, 2} : Integers{0};
  }};
  const Json json = files_document(folder, R"({"reorder": {"bind": "f", "of": "files"}}, {"batch": {"size": 2}})",
                                   R"(, "epochs": 2)");
  const std::vector<std::int64_t> expected{2, 3, 4, 0, 1, 2, 3, 4, 0, 1};
  EXPECT_EQ(ids_of(load(json, {.threads = 1}, ".", answers.bindings())), expected);
  EXPECT_EQ(ids_of(load(json, {.threads = 8}, ".", answers.bindings())), expected);
  EXPECT_EQ(answers.asked(), (std::set<Integers>{{0, 3}, {1, 3}}));
}

/// Lists of steps with functions, and their answers.
struct Asking {
  std::string steps;
  Answering::Answer answer;
};

const std::vector<Asking>& askings() {
  static const std::vector<Asking> all{
      {R"({"reorder": {"bind": "f"}}, {"batch": {"size": 12}})", strided},
      {R"({"filter": {"where": "id % 3 != 1"}}, {"reorder": {"bind": "f"}}, {"shuffle": {"buffer": 9}},
          {"batch": {"size": 7, "remainder": "drop"}})",
       strided},
      {R"({"reorder": {"bind": "f", "of": "files"}}, {"shuffle": {"buffer": 9}}, {"batch": {"size": 12}})", strided},
      {R"({"shuffle": {"buffer": 30}}, {"batch": {"size": 10, "size_function": "f"}})", growing},
      {R"({"shuffle": {"global": true}}, {"batch": {"size": 4, "size_function": "f", "remainder": "pad"}})", growing},
      {R"({"batch": {"size": 4, "size_function": "f", "remainder": "repeat"}}, {"shuffle_batches": {"buffer": 3}})",
       growing}};
  return all;
}

class FunctionRestart : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FunctionRestart, AtEveryBatchGivesTheRestOfTheUnbrokenRun) {
  const Folder folder;
  testing::write_five(folder);
  const Asking asking = askings()[GetParam()];
  for (const std::string& boundary : testing::boundaries()) {
    const Answering answers{asking.answer};
    const Json json = files_document(folder, asking.steps, boundary);
    auto loader = load(json, {.threads = 2}, ".", answers.bindings());
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const auto [all, states] = testing::whole_run(*loader);
    ASSERT_THAT(all, ::testing::Each(::testing::Not(HasSubstr("error"))));
    ASSERT_GT(all.size(), 20U);
    auto one = load(json, {.threads = 1}, ".", answers.bindings());
    EXPECT_EQ(rest(*one), all);
    auto eight = load(json, {.threads = 8}, ".", answers.bindings());
    EXPECT_EQ(rest(*eight), all);
    for (std::size_t i = 0; i < states.size(); i += 1 + i % tests::how_much<std::size_t>(5, 17, 41)) {
      const Answering others{asking.answer};
      auto again = load(json, {.threads = static_cast<std::int64_t>(1 + i % 3)}, ".", others.bindings());
      ASSERT_TRUE(again.ok() && again->restore(states[i]).ok());
      EXPECT_EQ(rest(*again), std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end())) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, FunctionRestart, ::testing::Range(std::size_t{0}, askings().size()));

TEST(Functions, ABatchHasTheRowsThatTheFunctionSays) {
  const Folder folder;
  testing::write_parts(folder, {13}, {});
  const Answering answers{growing};
  const Json json = files_document(folder, R"({"batch": {"size": 4, "size_function": "f"}})");
  auto loader = load(json, {.threads = 2}, ".", answers.bindings());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::vector<std::int64_t> rows;
  for (auto batch = loader->next(); batch.ok() && *batch; batch = loader->next()) rows.push_back((*batch)->rows());
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 1, 2}));
  EXPECT_FALSE(loader->plan().batches());
}

TEST(Functions, RowShardsDealTheRowsOfEveryBatch) {
  const Folder folder;
  testing::write_five(folder);
  const Answering answers{growing};
  const Json json = files_document(folder, R"({"batch": {"size": 4, "size_function": "f"}})");
  auto whole = ids_of(load(json, {.threads = 2}, ".", answers.bindings()));
  std::vector<std::int64_t> dealt;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const auto part =
        ids_of(load(json, {.threads = 2, .shard_index = rank, .shard_count = 2}, ".", answers.bindings()));
    dealt.insert(dealt.end(), part.begin(), part.end());
  }
  std::ranges::sort(whole);
  std::ranges::sort(dealt);
  EXPECT_EQ(dealt, whole);
}

TEST(Functions, ABranchMayAskOne) {
  const Folder folder;
  testing::write_parts(folder, {5}, {});
  const Answering answers{[](const Integers&) -> Result<Integers> { return Integers{4, 0, 4}; }};
  const Json branch = files_document(folder, R"({"reorder": {"bind": "f"}})");
  Json json = parse(R"({"source": {"concat": {"branches": []}}, "steps": [{"batch": {"size": 4}}]})");
  Json part = Json::object();
  for (const char* key : {"source", "decode", "steps"}) part.set(key, *branch.find(key));
  json.set("source", Json::object({{"concat", Json::object({{"branches", Json::array({part, part})}})}}));
  EXPECT_EQ(ids_of(load(json, {.threads = 2}, ".", answers.bindings())), (std::vector<std::int64_t>{4, 0, 4, 4, 0, 4}));
}

std::string function_error(const std::string& steps, const Answering::Answer& answer) {
  const Folder folder;
  testing::write_parts(folder, {5}, {});
  const Answering answers{answer};
  auto loader = load(files_document(folder, steps), {.threads = 2}, ".", answers.bindings());
  if (!loader.ok()) return loader.error().text();
  const auto lines = rest(*loader);
  EXPECT_EQ(rest(*loader).back(), lines.back()) << "a failed loader repeats its error";
  return lines.back();
}

TEST(Functions, WrongAnswersNameTheFunctionAndWhatWasFound) {
  const auto constant = [](const Integers& given) {
    return [given](const Integers&) -> Result<Integers> { return given; };
  };
  const std::string order = R"({"reorder": {"bind": "f"}}, {"batch": {"size": 2}})";
  EXPECT_THAT(function_error(order, constant({0, 5})),
              HasSubstr("the order of epoch 0 that function 'f' gives: item 1 is 5, and there are 5 records, numbered "
                        "from 0"));
  EXPECT_THAT(function_error(order, constant({-1})), HasSubstr("item 0 is -1"));
  EXPECT_THAT(function_error(R"({"reorder": {"bind": "f", "of": "files"}}, {"batch": {"size": 2}})", constant({1})),
              HasSubstr("item 0 is 1, and there are 1 files, numbered from 0"));
  const std::string sizes = R"({"batch": {"size": 3, "size_function": "f"}})";
  EXPECT_THAT(function_error(sizes, constant({-1})),
              HasSubstr("the size of batch 0 that function 'f' gives: must be from 0 to `size`, 3, found -1"));
  EXPECT_THAT(function_error(sizes, constant({4})), HasSubstr("found 4"));
  EXPECT_THAT(function_error(sizes, constant({})), HasSubstr("must be one integer, found 0"));
  EXPECT_THAT(function_error(sizes, constant({0})), HasSubstr("this run would never end"));
  EXPECT_THAT(function_error(sizes,
                             [](const Integers& question) -> Result<Integers> {
                               if (question[0] == 1) return Error{Code::data, "the box is empty"};
                               return Integers{2};
                             }),
              HasSubstr("function 'f': the box is empty"));
}

TEST(Functions, AMissingFunctionIsAFaultOfItsOption) {
  const Folder folder;
  testing::write_parts(folder, {5}, {});
  const Answering answers{growing};
  const auto fault = [&](const std::string& steps) {
    const auto loader = load(files_document(folder, steps), {}, ".", answers.bindings());
    return loader.ok() ? "" : loader.error().text();
  };
  EXPECT_THAT(fault(R"({"reorder": {"bind": "ff"}}, {"batch": {"size": 2}})"),
              HasSubstr("/steps/0/reorder/bind: the program binds no function 'ff'; did you mean 'f'?"));
  EXPECT_THAT(fault(R"({"batch": {"size": 2, "size_function": "g"}})"), HasSubstr("/steps/0/batch/size_function"));
  const auto rows = Plan::make(parse(R"({"source": {"arrays": {"bind": "f"}}, "steps": [{"batch": {"size": 2}}]})"),
                               ".", answers.bindings());
  ASSERT_FALSE(rows.ok());
  EXPECT_THAT(rows.error().text(), HasSubstr("'f' is bound to a function, and this source takes a dict of arrays"));
}

TEST(Functions, ShardsByFileAreEqualForAnOrderThatLeavesRecordsOut) {
  const Folder folder;
  testing::write_five(folder);
  const Answering answers{strided};
  const Json json =
      files_document(folder, R"({"reorder": {"bind": "f"}}, {"batch": {"size": 4, "remainder": "drop"}})");
  std::vector<std::int64_t> batches;
  for (const std::int64_t index : {0, 1}) {
    auto loader =
        load(json, {.shard_index = index, .shard_count = 2, .shard_by = ShardBy::file}, ".", answers.bindings());
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    batches.push_back(std::ssize(ids_of(std::move(loader))));
  }
  EXPECT_GT(batches[0], 5);
  EXPECT_EQ(batches[0], batches[1]);
}

TEST(Functions, ClosingWhileAFunctionHangsTakesNoTime) {
  const Folder folder;
  testing::write_parts(folder, {5}, {});
  const Function never;
  const Json json = files_document(folder, R"({"reorder": {"bind": "f"}}, {"batch": {"size": 2}})");
  auto loader = load(json, {.threads = 2}, ".", Bindings{{"f", never}});
  ASSERT_TRUE(loader.ok());
  bool timed_out = false;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(loader->next_within(std::chrono::milliseconds{50}, timed_out).ok());
  EXPECT_TRUE(timed_out);
  loader->close();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{1});
}

TEST(Function, AQuestionIsTakenOnceAndItsAnswerGivenOnce) {
  const Function function;
  int woken = 0;
  auto listener = function.listen([&] { ++woken; });
  EXPECT_FALSE(*function.ask(Integers{1, 2}));
  EXPECT_FALSE(*function.ask(Integers{1, 2}));
  EXPECT_EQ(*function.next({}), (Integers{1, 2}));
  EXPECT_FALSE(*function.next({}));
  function.answer({9}, {1});  // it was not asked
  EXPECT_EQ(woken, 0);
  function.answer({1, 2}, {3});
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(*function.ask(Integers{1, 2}), (Integers{3}));
  EXPECT_FALSE(*function.ask(Integers{1, 2})) << "a new question";
  listener.reset();
  function.fail({1, 2}, Error{Code::data, "no"});
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(function.ask(Integers{1, 2}).error().message(), "no");
  function.close();
  EXPECT_EQ(function.next({}).error().code(), Code::cancelled);
}

}  // namespace
}  // namespace forebay
