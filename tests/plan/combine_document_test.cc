// SPDX-License-Identifier: Apache-2.0
// Faults of documents that combine several sources: each has its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/combine/mix.h>
#include <forebay/forebay.h>
#include <forebay/plugins.h>

#include "tests/plan/documents.h"

namespace forebay::combine_documents {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::faults;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string decode =
    R"("decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []}, "x": {"dtype": "float32", "shape": [4]}}}})";

struct Mixed {
  std::string first = R"({"source": {"tfrecord": {"files": ["data"]}}, )" + decode + "}";
  std::string second = first;
  std::string options = "";  // `"until": "all", `
  std::string kind = "mix";
  std::string steps = R"({"batch": {"size": 2}})";
  std::string more = "";
};

std::vector<std::string> faults_of(const Mixed& mixed) {
  const Folder folder;
  folder.write("data", "");
  return faults(R"({"source": {")" + mixed.kind + R"(": {)" + mixed.options + R"("branches": [)" + mixed.first + ", " +
                    mixed.second + R"(]}}, "steps": [)" + mixed.steps + "]" + mixed.more + "}",
                folder.path());
}

/// A branch with these features, steps and further members.
std::string branch(const std::string& features, const std::string& more = "") {
  return R"({"source": {"tfrecord": {"files": ["data"]}}, "decode": {"example": {"features": {)" + features + "}}}" +
         more + "}";
}

const std::string id = R"("id": {"dtype": "int64", "shape": []})";
const std::string x = R"("x": {"dtype": "float32", "shape": [4]})";

auto fault(const std::string& pointer, const std::string& message) {
  return AllOf(HasSubstr(" " + pointer + ": "), HasSubstr(message));
}

TEST(CombineDocument, IsPlannedWithoutAFault) { EXPECT_THAT(faults_of({}), IsEmpty()); }

TEST(CombineDocument, ATypoInABranchIsFoundAtItsPlace) {
  EXPECT_THAT(faults_of({.second = branch(id + ", " + x, R"(, "repeet": true)")}),
              ElementsAre(fault("/source/mix/branches/1/repeet", "repeat")));
  EXPECT_THAT(faults_of({.second = branch(id + ", " + x, R"(, "steps": [{"shufle": {"buffer": 2}}])")}),
              ElementsAre(fault("/source/mix/branches/1/steps/0/shufle", "shuffle")));
  EXPECT_THAT(faults_of({.options = R"("untill": "all", )"}), ElementsAre(fault("/source/mix/untill", "until")));
  EXPECT_THAT(faults_of({.options = R"("until": "al", )"}), ElementsAre(fault("/source/mix/until", "all")));
  EXPECT_THAT(faults_of({.options = R"("until": 0, )"}), ElementsAre(fault("/source/mix/until", "at least 1 row")));
}

TEST(CombineDocument, FaultsOfSeveralBranchesAreReportedTogether) {
  EXPECT_THAT(faults_of({.first = branch(id, R"(, "repeat": 3)"), .second = branch(id, R"(, "steps": 3)")}),
              ElementsAre(fault("/source/mix/branches/0/repeat", "expected a boolean"),
                          fault("/source/mix/branches/1/steps", "a list")));
}

TEST(CombineDocument, WeightsAreOneForEachBranchAndNotAllZero) {
  EXPECT_THAT(faults_of({.options = R"("weights": [1], )"}),
              ElementsAre(fault("/source/mix/weights", "1 weights for 2 branches")));
  EXPECT_THAT(faults_of({.options = R"("weights": [1, -1], )"}),
              ElementsAre(fault("/source/mix/weights", "a number up to 1e9; found -1")));
  EXPECT_THAT(faults_of({.options = R"("weights": [0, 0], )"}),
              ElementsAre(fault("/source/mix/weights", "all weights are 0")));
  EXPECT_THAT(faults_of({.options = R"("weights": [[0, [1, 1]], [2, [0, 0]]], )"}),
              ElementsAre(fault("/source/mix/weights", "all weights are 0 from pass 2 on")));
}

TEST(CombineDocument, OtherTypesSuggestACast) {
  EXPECT_THAT(faults_of({.second = branch(id + R"(, "x": {"dtype": "int64", "shape": [4]})")}),
              ElementsAre(fault("/source/mix/branches/1",
                                "tensor 'x' is int64 here and float32 in branch 0; add the "
                                "step {\"cast\": …}")));
}

TEST(CombineDocument, OtherShapesAreRefused) {
  EXPECT_THAT(faults_of({.second = branch(id + R"(, "x": {"dtype": "float32", "shape": [5]})")}),
              ElementsAre(fault("/source/mix/branches/1", "tensor 'x' has shape [5] here and [4] in branch 0")));
}

TEST(CombineDocument, ATensorThatABranchLacksNeedsAFill) {
  EXPECT_THAT(faults_of({.second = branch(id)}),
              ElementsAre(fault("/source/mix/branches/1", "branch 1 lacks tensor 'x' of branch 0; add it to `fill`")));
  EXPECT_THAT(faults_of({.second = branch(id), .options = R"("fill": {"x": 0.5}, )"}), IsEmpty());
  EXPECT_THAT(faults_of({.second = branch(id), .options = R"("fill": {"x": "a"}, )"}),
              ElementsAre(fault("/source/mix/fill/x", "the value for tensor 'x' is no float32")));
  EXPECT_THAT(faults_of({.options = R"("fill": {"y": 1}, )"}),
              ElementsAre(fault("/source/mix/fill/y", "no branch has a tensor 'y'")));
  EXPECT_THAT(faults_of({.options = R"("fill": {"x": 1}, )"}),
              ElementsAre(fault("/source/mix/fill/x", "nothing is filled")));
}

TEST(CombineDocument, SideBySideNoNameOccursTwice) {
  EXPECT_THAT(faults_of({.second = branch(id), .kind = "zip"}),
              ElementsAre(fault("/source/zip/branches/1", "tensor 'id' is in branch 1 and in one before it")));
}

TEST(CombineDocument, CombinationsNestAndTellTheirFaults) {
  const auto nested = [](const std::string& branches) {
    return R"({"source": {"concat": {"branches": [)" + branches + "]}}}";
  };
  EXPECT_THAT(faults_of({.second = nested(branch(id + ", " + x) + ", " + branch(id + ", " + x))}), IsEmpty());
  EXPECT_THAT(faults_of({.second = nested("")}),
              ElementsAre(fault("/source/mix/branches/1/source/concat/branches", "1 to 255 branches")));
  EXPECT_THAT(faults_of({.second = nested(branch(id))}),
              ElementsAre(fault("/source/mix/branches/1", "branch 1 lacks tensor 'x'")));
  EXPECT_THAT(faults_of({.second = nested(R"({"source": {"tfrecord": {"files": ["date"]}}, )" + decode + "}")}),
              ElementsAre(AllOf(HasSubstr("/source/mix/branches/1/source/concat/branches/0/source/tfrecord/files/0"),
                                HasSubstr("date"))));
}

TEST(CombineDocument, BatchesAreMadeAfterTheCombination) {
  EXPECT_THAT(faults_of({.second = branch(id + ", " + x, R"(, "steps": [{"batch": {"size": 2}}])")}),
              ElementsAre(fault("/source/mix/branches/1/steps/0/batch", "move it from the branch")));
  EXPECT_THAT(faults_of({.more = ", " + decode}), ElementsAre(fault("/decode", "every branch has its own 'decode'")));
}

TEST(CombineDocument, OrdersOfRowsStandAfterTheCombinationAndThoseOfFilesInTheBranches) {
  const std::string batch = R"(, {"batch": {"size": 2}})";
  EXPECT_THAT(faults_of({.steps = R"({"shuffle": {"global": true}})" + batch}), IsEmpty());
  EXPECT_THAT(faults_of({.steps = R"({"filter": {"where": "id > 3"}})" + batch}), IsEmpty());
  EXPECT_THAT(faults_of({.steps = R"({"interleave": {"cycle": 2}})" + batch}),
              ElementsAre(fault("/steps/0/interleave", "move it into the branches")));
  EXPECT_THAT(faults_of({.steps = R"({"filter": {"where": "ide > 3"}})" + batch}),
              ElementsAre(fault("/steps/0/filter/where", "there is no tensor 'ide'")));
}

TEST(CombineDocument, WindowsStandInBranchesAndAfterTheCombination) {
  const std::string windows = R"({"chunk": {"size": 2, "keys": ["x"]}})";
  const std::string batch = R"(, {"batch": {"size": 2}})";
  EXPECT_THAT(faults_of({.second = branch(id + ", " + x, R"(, "steps": [)" + windows + "]")}), IsEmpty());
  const std::string cut = branch(id + ", " + x, R"(, "steps": [)" + windows + "]");
  EXPECT_THAT(faults_of({.first = cut, .second = cut}), IsEmpty());
  EXPECT_THAT(faults_of({.steps = windows + batch}), IsEmpty());
}

TEST(CombineDocument, BatchersMayLookAtTheLengthsOfItsRows) {
  const std::string sequences = branch(R"("x": {"kind": "var_len", "dtype": "int64"})");
  EXPECT_THAT(faults_of({.first = sequences,
                         .second = sequences,
                         .steps = R"({"buckets": {"key": "x", "boundaries": [3, 6], "sizes": [3, 2]}})"}),
              IsEmpty());
  EXPECT_THAT(faults_of({.first = sequences, .second = sequences, .steps = R"({"frames": {"batch_size": 2}})"}),
              IsEmpty());
}

TEST(CombineDocument, OrdersOnBatchesStandAfterTheBatch) {
  EXPECT_THAT(faults_of({.second = branch(id + ", " + x, R"(, "steps": [{"shuffle_batches": {"buffer": 2}}])")}),
              ElementsAre(fault("/source/mix/branches/1/steps/0/shuffle_batches", "move it from the branch")));
  EXPECT_THAT(faults_of({.steps = R"({"batch": {"size": 2}}, {"shuffle_batches": {"buffer": 2}})"}), IsEmpty());
}

TEST(CombineDocument, APassThatWouldNeverEndIsRefused) {
  const std::string repeats = branch(id + ", " + x, R"(, "repeat": true)");
  EXPECT_THAT(faults_of({.first = repeats, .second = repeats}),
              ElementsAre(fault("/source/mix/until", "every branch repeats")));
  EXPECT_THAT(faults_of({.first = repeats, .second = repeats, .options = R"("until": "all", )"}), IsEmpty());
  EXPECT_THAT(faults_of({.second = repeats, .kind = "concat"}),
              ElementsAre(fault("/source/concat/branches", "read once a pass")));
}

TEST(CombineDocument, AMissingFileIsFoundInItsBranch) {
  EXPECT_THAT(faults_of({.second = R"({"source": {"tfrecord": {"files": ["date"]}}, )" + decode + "}"}),
              ElementsAre(AllOf(HasSubstr("/source/mix/branches/1/source/tfrecord/files/0"), HasSubstr("date"))));
}

TEST(CombineDocument, TheLoweredDocumentGivesTheSamePlan) {
  const Folder folder;
  folder.write("data", "");
  const auto plan = Plan::make(testing::parse(R"({"source": {"mix": {"branches": [)" + Mixed{}.first + ", " +
                                              Mixed{}.first + R"(]}}, "steps": [{"batch": {"size": 2}}]})"),
                               folder.path());
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const auto again = Plan::make(plan->lowered());
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->text(), plan->text());
  EXPECT_THAT(plan->lowered().text(), HasSubstr(folder.path() + "/data"));
}

TEST(CombineDocument, IsWrittenInCppToo) {
  const Folder folder;
  folder.write("data", "");
  const Pipeline one = from(TfRecord{.files = {folder.path() + "/data"}}).decode(RecordBytes{.name = "r"});
  const auto plan =
      from(Mix{.weights = {2, 1}, .branches = {one.document(), one.document()}}).then(FixedBatch{.size = 2}).plan();
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_THAT(plan->text(), HasSubstr("mix of 2 branches: weights [2"));
}

}  // namespace
}  // namespace forebay::combine_documents
