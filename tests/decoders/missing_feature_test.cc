// SPDX-License-Identifier: Apache-2.0
#include "tests/decoders/decode.h"

#include <gtest/gtest.h>

#include <forebay/records.h>

namespace forebay::testing {
namespace {

const ExampleMap photo{
    {"image", std::vector<std::string>{"x"}}, {"label", std::vector<std::int64_t>{1}}, {"weight", std::monostate{}}};

std::string of_photo(const std::string& feature, const std::string& message = encode_example(photo)) {
  return decoded(decoders::example(), R"({"features": {")" + feature + R"(": {"dtype": "int64"}}})", {message});
}

std::string of_sequence(const std::string& options, const std::string& message) {
  return decoded(decoders::sequence_example(), options, {message});
}

const std::string lacks = "is required ([] int64) but the record does not have it; ";
const std::string cure = "give it a `default`, or make it var_len";

TEST(MissingFeature, ListsWhatTheRecordHasAndTheNearestName) {
  EXPECT_EQ(of_photo("lable"),
            "row 0: feature 'lable': " + lacks +
                "did you mean 'label'? its features are: 'image', 'label', 'weight'; where records may lack it, " +
                cure);
  EXPECT_EQ(of_photo("price"), "row 0: feature 'price': " + lacks +
                                   "its features are: 'image', 'label', 'weight'; where records may lack it, " + cure);
}

TEST(MissingFeature, MayBeThereWithoutAKindOrInARecordWithoutFeatures) {
  EXPECT_EQ(of_photo("weight"),
            "row 0: feature 'weight': " + lacks + "it is there without a kind, which counts as missing; " + cure);
  EXPECT_EQ(of_photo("label", {}), "row 0: feature 'label': " + lacks + "the record has no features at all; " + cure);
}

TEST(MissingFeature, RecognisesAMessageOfTheOtherType) {
  const std::string sequence =
      encode_sequence_example({.context = {{"n", std::vector<std::int64_t>{1}}},
                               .lists = {{"label", {FeatureValue{std::vector<std::int64_t>{1}}}}}});
  EXPECT_EQ(of_photo("label", sequence),
            "row 0: feature 'label': " + lacks +
                "the record has feature lists, so it is a tf.train.SequenceExample: decode it with sequence_example");
  const std::string list = R"({"lists": {"NAME": {"kind": "fixed_len_sequence", "dtype": "int64"}}})";
  const auto listed = [&](const std::string& name) { return std::string{list}.replace(list.find("NAME"), 4, name); };
  EXPECT_EQ(of_sequence(listed("label"), encode_example(photo)),
            "row 0: feature 'label': the list is required but the record does not have it; the record has no feature "
            "lists, so it is a tf.train.Example: decode it with example");
  EXPECT_EQ(of_sequence(listed("n"), sequence),
            "row 0: feature 'n': the list is required but the record does not have it; it is in the context of the "
            "record, not among its lists");
  EXPECT_EQ(of_sequence(R"({"context": {"label": {"dtype": "int64"}}})", sequence),
            "row 0: feature 'label': " + lacks + "it is among the lists of the record, not in its context");
  EXPECT_EQ(of_sequence(listed("lable"), sequence),
            "row 0: feature 'lable': the list is required but the record does not have it; did you mean 'label'? its "
            "lists are: 'label'; where records may lack it, `allow_missing`: true takes it as empty");
}

TEST(MissingFeature, ShowsHostileNamesAsText) {
  ExampleMap many;
  for (int i = 0; i < 40; ++i) many[std::string(300, 'k') + "\n" + std::to_string(i)] = std::vector<std::int64_t>{1};
  const std::string said = of_photo("label", encode_example(many));
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_NE(said.find(" and 10 more"), std::string::npos);
  EXPECT_LT(said.size(), 4000U);
}

}  // namespace
}  // namespace forebay::testing
