// SPDX-License-Identifier: Apache-2.0
#include <forebay/forebay.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(Pipeline, WritesTheDocumentThatAFileWouldHold) {
  const Pipeline builder = from(TfRecord{.files = {"data/*.tfrecord"}})
                               .decode(ExampleFeatures{.features = {{"x", FixedLenFeature{.shape = {4}}}}})
                               .then(Shuffle{.buffer = 100})
                               .then(Slice{.tensor = "x", .slice = "[0]"})
                               .then(FixedBatch{.size = 8, .remainder = Remainder::drop})
                               .epochs(std::nullopt)
                               .seed(7);
  const Json& document = builder.document();
  EXPECT_EQ(document.find("source")->find("tfrecord")->find("files")->text(), R"(["data/*.tfrecord"])");
  EXPECT_EQ(document.find("decode")->find("example")->find("features")->find("x")->find("shape")->text(), "[4]");
  std::vector<std::string> steps;
  for (const Json& step : document.find("steps")->items()) steps.push_back(step.members().front().first);
  EXPECT_EQ(steps, (std::vector<std::string>{"shuffle", "slice", "batch"}));
  EXPECT_EQ(document.find("steps")->items()[2].find("batch")->find("remainder")->text(), R"("drop")");
  EXPECT_EQ(document.find("epochs")->text() + document.find("seed")->text(), "null7");
}

TEST(Pipeline, AllFaultsOfAPipelineAreFoundWhenItIsPlanned) {
  const auto plan = from(TfRecord{.files = {"/no/such/file"}})
                        .decode(ExampleFeatures{.features = {{"x", ExampleFeature{}}}})
                        .then(Shuffle{.buffer = 0})
                        .then(Slice{.tensor = "y", .slice = "[0]"})
                        .then(FixedBatch{.size = 8})
                        .plan();
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().text(), ::testing::AllOf(::testing::HasSubstr("buffer"), ::testing::HasSubstr("'y'")));
}

}  // namespace
}  // namespace forebay
