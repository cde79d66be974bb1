// SPDX-License-Identifier: Apache-2.0
#include "tests/decoders/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/records.h>

namespace forebay::testing {
namespace {

using ::testing::HasSubstr;

// Context id = 7; list x = [1, 2], [3], a step without a kind.
const std::string known =
    bytes_of("0a0d0a0b0a02696412051a030a010712210a1f0a0178121a0a0c120a0a080000803f000000400a0812060a04000040400a00");

std::string of(std::string_view options, const std::string& message = known) {
  return decoded(decoders::sequence_example(), options, {message});
}

TEST(SequenceExample, StepsOfAnyLengthKeepTheirSplits) {
  EXPECT_EQ(of(R"({"context": {"id": {"dtype": "int64"}}, "lists": {"x": {"kind": "var_len", "dtype": "float32"}}})"),
            R"({"id":[[7]],"x":[[1.0,2.0,3.0],[0,3],[[0,2,3,3],[0,4]]]})");
}

TEST(SequenceExample, EveryStepOfAFixedShapeMustHaveItsValues) {
  EXPECT_EQ(of(R"({"lists": {"x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2]}}})"),
            "row 0: feature 'x': step 1: expected 2 values (shape [2]), found 1");
}

TEST(SequenceExample, AMissingListIsAnErrorUnlessAllowed) {
  EXPECT_THAT(of(R"({"lists": {"y": {"kind": "fixed_len_sequence", "dtype": "float32"}}})"),
              HasSubstr("feature 'y': the list is required"));
  EXPECT_EQ(of(R"({"lists": {"y": {"kind": "fixed_len_sequence", "dtype": "float32", "allow_missing": true}}})"),
            R"({"y":[[],[0,0]]})");
}

TEST(SequenceExample, AWrongKindNamesItsStep) {
  EXPECT_THAT(of(R"({"lists": {"x": {"kind": "var_len", "dtype": "int64"}}})"),
              HasSubstr("feature 'x': step 0: expected a list of int64, found a list of float"));
}

TEST(SequenceExample, RawStepsKeepTheTimeAxis) {
  EXPECT_EQ(of(R"({"lists": {"r": {"kind": "raw", "dtype": "uint8", "shape": [2], "endian": "little"}}})",
               bytes_of("12170a150a017212100a060a040a0261620a060a040a026364")),
            R"({"r":[[97,98,99,100],[0,4]]})");
}

TEST(SequenceExample, AContextFeatureWithoutKindTakesItsDefault) {
  EXPECT_EQ(of(R"({"context": {"id": {"dtype": "int64", "default": 3}}})", bytes_of("0a080a060a0269641200")),
            R"({"id":[[3]]})");
}

TEST(SequenceExample, TheLastListOfAKeyWins) {
  // Lists of x: first [1], then [2], [3].
  EXPECT_EQ(of(R"({"lists": {"x": {"kind": "fixed_len_sequence", "dtype": "int64"}}})",
               bytes_of("12210a0c0a017812070a051a030a01010a110a0178120c0a041a0208020a041a020803")),
            R"({"x":[[2,3],[0,2]]})");
}

TEST(SequenceExample, KindsOutOfPlaceAreRefused) {
  EXPECT_THAT(of(R"({"lists": {"x": {"kind": "fixed_len", "dtype": "int64"}}})"),
              HasSubstr("'fixed_len' is not possible in lists"));
  EXPECT_THAT(of(R"({"context": {"x": {"kind": "fixed_len_sequence", "dtype": "int64"}}})"),
              HasSubstr("is not possible in context"));
  EXPECT_THAT(of("{}"), HasSubstr("must name at least one feature"));
}

TEST(SequenceCodec, WhatWasEncodedIsDecodedAgain) {
  using IntValues = std::vector<std::int64_t>;
  using FloatValues = std::vector<float>;
  using TextValues = std::vector<std::string>;
  const SequenceExampleMap sequence{
      .context = {{"id", IntValues{7}}, {"none", std::monostate{}}},
      .lists = {{"empty", {}},
                {"mixed", {IntValues{1, -2}, FloatValues{}, TextValues{"a", ""}, std::monostate{}}},
                {"x", {FloatValues{1, 2}, FloatValues{3}, std::monostate{}}}}};
  const auto again = decode_sequence_example(encode_sequence_example(sequence));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->context, sequence.context);
  EXPECT_EQ(again->lists, sequence.lists);
  EXPECT_EQ(encode_sequence_example({.context = {{"id", IntValues{7}}}, .lists = {{"x", sequence.lists.at("x")}}}),
            known);
  EXPECT_EQ(encode_sequence_example({}), "");
}

TEST(SequenceCodec, TheLastEntryOfAKeyWinsAndMalformedMessagesAreRefused) {
  const auto last =
      decode_sequence_example(bytes_of("12210a0c0a017812070a051a030a01010a110a0178120c0a041a0208020a041a020803"));
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->lists, (std::map<std::string, std::vector<FeatureValue>>{
                             {"x", {std::vector<std::int64_t>{2}, std::vector<std::int64_t>{3}}}}));
  for (std::size_t size = 0; size < known.size(); ++size) {
    const auto cut = decode_sequence_example(known.substr(0, size));
    EXPECT_EQ(cut.ok(), size == 0 || size == 15) << size;
    if (cut.ok()) continue;
    EXPECT_THAT(cut.error().text(), HasSubstr("not a tf.train.SequenceExample"));
  }
}

}  // namespace
}  // namespace forebay::testing
