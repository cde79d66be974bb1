// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "tests/plan/documents.h"

namespace forebay {
namespace {

/// What is decoded early; then the steps and the attributes, in the order in which they run; then what tickets decode.
std::string early_of(const std::string& steps) {
  const testing::Folder folder;
  folder.write("a.tfrecord", "");
  const auto plan =
      Plan::make(testing::parse(R"({"source": {"tfrecord": {"files": ["a.tfrecord"]}}, "steps": [)" + steps + R"(],
      "decode": {"example": {"features": {"x": {"dtype": "float32", "shape": [4]}, "n": {"dtype": "int64", "shape": []}}}}})"),
                 folder.path());
  if (!plan.ok()) return plan.error().text();
  const engine::Program& program = engine::program_of(*plan);
  std::string out = program.early.decoder ? "" : "no decoder:";
  for (const ColumnId id : program.early.decoded) out += program.schema[id].name + " ";
  std::size_t step = 0;
  for (const engine::EarlyAttribute& attribute : program.early.attributes) {
    for (; step < attribute.steps; ++step) out += "> " + program.early.steps[step].name + " ";
    out += "> " + attribute.name + " " + attribute.value.text() + " ";
  }
  EXPECT_EQ(step, program.early.steps.size());
  out += "|";
  for (const ColumnId id : program.decoded) out += " " + program.schema[id].name;
  return out;
}

TEST(Attributes, APlanWithoutFilterHasNoEarlyWork) {
  EXPECT_EQ(early_of(R"({"shuffle": {"buffer": 3}}, {"batch": {"size": 3}})"), "no decoder:| x n");
}

TEST(Attributes, OnlyTheColumnsOfTheExpressionAreDecodedEarly) {
  EXPECT_EQ(early_of(R"({"filter": {"where": "n > 3"}}, {"batch": {"size": 3}})"), "n > filter n > 3 | x n");
  EXPECT_EQ(early_of(R"({"filter": {"where": "n > 3"}}, {"select": {"tensors": ["x"]}}, {"batch": {"size": 3}})"),
            "n > filter n > 3 | x");
  EXPECT_EQ(
      early_of(R"({"filter": {"where": "length(x) > n"}}, {"filter": {"where": "n != 3"}}, {"batch": {"size": 3}})"),
      "x n > filter length(x) > n > filter n != 3 | x n");
}

TEST(Attributes, AnExpressionWithoutTensorsDecodesNothing) {
  EXPECT_EQ(early_of(R"({"filter": {"where": "1 < 2"}}, {"batch": {"size": 3}})"), "no decoder:> filter 1 < 2 | x n");
}

TEST(Attributes, StepsThatMakeTheColumnsRunEarlyAndOthersDoNot) {
  EXPECT_EQ(early_of(R"({"cast": {"tensor": "n", "dtype": "float32"}}, {"slice": {"tensor": "x", "slice": "[:2]"}},
                        {"slice": {"tensor": "x", "slice": "[0]"}}, {"filter": {"where": "x > 0.5"}},
                        {"cast": {"tensor": "x", "dtype": "int32"}}, {"batch": {"size": 3}})"),
            "x > slice > slice > filter x > 0.5 | x n");
  EXPECT_EQ(early_of(R"({"filter": {"where": "n > 3"}}, {"cast": {"tensor": "n", "dtype": "float32"}},
                        {"filter": {"where": "n < 0.5"}}, {"batch": {"size": 3}})"),
            "n > filter n > 3 > cast > filter n < 0.5 | x n");
}

TEST(Attributes, FaultsAreAtTheOptionAndOthersThatOnlyFollowAreNotTold) {
  EXPECT_EQ(early_of(R"({"filter": {"where": "m > 3"}}, {"batch": {"size": 3}})"),
            "line 1:84, /steps/0/filter/where: character 1, 'm': there is no tensor 'm'; did you mean 'x'? defined "
            "here: x, n");
  EXPECT_THAT(
      early_of(R"({"slice": {"tensor": "x", "slice": "[9]"}}, {"filter": {"where": "x > 3"}}, {"batch": {"size": 3}})"),
      ::testing::Not(::testing::HasSubstr("filter")));
}

}  // namespace
}  // namespace forebay
