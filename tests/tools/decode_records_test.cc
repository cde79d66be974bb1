// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include <forebay/decode.h>
#include <forebay/records.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json options(std::string_view text) { return *parse_json(text); }

std::vector<std::string_view> views(const std::vector<std::string>& records) {
  return {records.begin(), records.end()};
}

TEST(DecodeFunction, MakesTheTensorsOfABatchOfTheRecords) {
  const auto function = DecodeFunction::bind(
      {.name = "example",
       .options =
           options(R"({"features": {"x": {"dtype": "int64", "shape": [2]}, "v": {"kind": "var_len", "dtype": "float32"},
                              "p": {"kind": "fixed_len_sequence", "dtype": "string"}}})")});
  ASSERT_TRUE(function.ok()) << function.error().text();
  using Ints = std::vector<std::int64_t>;
  std::vector<std::string> records;
  for (std::int64_t i = 0; i < 40; ++i) {  // more than one group of records
    records.push_back(encode_example({{"x", Ints{i, -i}},
                                      {"v", std::vector<float>(static_cast<std::size_t>(i % 3), 0.5F)},
                                      {"p", std::vector<std::string>(static_cast<std::size_t>(i % 2), "a")}}));
  }
  const auto tensors = function->decode(views(records));
  ASSERT_TRUE(tensors.ok()) << tensors.error().text();
  ASSERT_EQ(tensors->size(), 3U);
  const DecodedTensor &x = (*tensors)[0], &v = (*tensors)[1], &p = (*tensors)[2];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.value.values.shape, (Shape{40, 2}));
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_EQ(x.value.values.as<std::int64_t>()[2 * i + 1], -static_cast<std::int64_t>(i));
  EXPECT_EQ(v.value.kind, Value::Kind::ragged);
  EXPECT_EQ(v.value.row_splits[0].as<std::int64_t>()[40], 39);
  EXPECT_EQ(p.value.values.shape, (Shape{40, 1}));
  EXPECT_EQ(p.value.values.string(1), "a");
  ASSERT_TRUE(p.lengths);
  EXPECT_THAT(p.lengths->as<std::int64_t>().first(3), ElementsAre(0, 1, 0));
  EXPECT_EQ(function->columns()[2].delivery, Delivery::padded);
}

TEST(DecodeFunction, NamesTheFirstBadRecordOfTheCall) {
  const DecoderChoice raw{.name = "raw", .options = options(R"({"dtype": "int32", "endian": "little", "shape": [1]})")};
  std::vector<std::string> records(30, "abcd");
  records[20] = "abc";
  records[25] = "";
  const auto failed = decode(raw, views(records));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::data);
  EXPECT_EQ(failed.error().place().record, 20);
  EXPECT_THAT(failed.error().text(), HasSubstr("record 20, feature 'values': expected 4 bytes"));
}

TEST(DecodeFunction, RefusesWhatNeedsMoreThanItsMemory) {
  const DecoderChoice raw{.name = "raw",
                          .options = options(R"({"dtype": "uint8", "shape": [1000000], "fixed_length": 1000000})")};
  const auto function = DecodeFunction::bind(raw, 1 << 20);
  ASSERT_TRUE(function.ok()) << function.error().text();
  EXPECT_TRUE(function->decode(views({"a"})).ok());
  const auto failed = function->decode(views({"a", "b"}));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().detail(), Detail::resource_exhausted);
  EXPECT_EQ(DecodeFunction::bind(raw, -1).error().code(), Code::config);
}

TEST(DecodeFunction, NamesTheNearestDecoder) {
  const auto failed = decode({.name = "exampel"}, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::config);
  EXPECT_THAT(failed.error().text(), HasSubstr("did you mean 'example'?"));
}

}  // namespace
}  // namespace forebay
