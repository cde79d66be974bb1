// SPDX-License-Identifier: Apache-2.0
// Steps behind the batcher, for every worked example of every step: the batch is that of the same step before the
// batcher, or the document is refused. Nothing that no one has written is delivered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/worked_examples.h"

namespace forebay::worked {
namespace {

using ::testing::HasSubstr;

std::vector<Case> steps() {
  std::vector<Case> out;
  add_cases("step", Registry::global().steps(), out);
  return out;
}

/// The document with the batcher before the step.
Json batched_first(const Json& document, const Json& batcher) {
  const Json& steps = *document.find("steps");
  const Json step = steps.items().front();
  return Json::object({{"source", *document.find("source")},
                       {"decode", *document.find("decode")},
                       {"steps", Json::array({batcher, step})}});
}

class StepsAfterBatch : public ::testing::TestWithParam<Case> {};

TEST_P(StepsAfterBatch, GiveWhatTheyGiveBeforeItOrAreRefused) {
  const Folder folder;
  const Json before = document_of(GetParam(), folder);
  const Json batcher = before.find("steps")->items().back();
  const Json wanted = outcome_of(GetParam(), before, 1);
  const Json after = batched_first(before, batcher);
  for (const std::int64_t threads : {1, 4}) {
    const Json found = outcome_of(GetParam(), after, threads);
    if (found == wanted) continue;
    ASSERT_TRUE(found.is(Json::Kind::string)) << found.text() << "\ninstead of " << wanted.text();
    EXPECT_THAT(found.string(), HasSubstr("put '" + GetParam().name + "' before 'batch'")) << wanted.text();
  }
}

TEST_P(StepsAfterBatch, ActOnPaddingOrAreRefused) {
  const Folder folder;
  const Json before = document_of(GetParam(), folder);
  const Json batcher = parse(R"({"batch": {"size": 100, "pad": true}})");
  const Json once = outcome_of(GetParam(), batched_first(before, batcher), 1);
  EXPECT_EQ(outcome_of(GetParam(), batched_first(before, batcher), 4), once);
  if (once.is(Json::Kind::string)) {
    EXPECT_THAT(once.string(), HasSubstr("put '" + GetParam().name + "' before 'batch'"));
  }
}

INSTANTIATE_TEST_SUITE_P(Worked, StepsAfterBatch, ::testing::ValuesIn(steps()),
                         [](const auto& each) { return each.param.name + std::to_string(each.index); });

}  // namespace
}  // namespace forebay::worked
