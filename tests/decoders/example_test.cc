// SPDX-License-Identifier: Apache-2.0
#include "tests/decoders/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/records.h>

namespace forebay::testing {
namespace {

using ::testing::HasSubstr;

std::string of_examples(std::string_view options, const std::vector<ExampleMap>& examples) {
  std::vector<std::string> messages;
  for (const ExampleMap& example : examples) messages.push_back(encode_example(example));
  return decoded(decoders::example(), options, messages);
}

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

constexpr auto abc =
    R"({"features": {"a": {"kind": "var_len", "dtype": "int64"}, "b": {"kind": "var_len", "dtype": "string"},
                                      "c": {"kind": "var_len", "dtype": "float32"}}})";
constexpr auto a_list = R"({"features": {"a": {"kind": "var_len", "dtype": "int64"}}})";
constexpr auto a_one = R"({"features": {"a": {"dtype": "int64"}}})";
constexpr auto a_default = R"({"features": {"a": {"dtype": "int64", "default": -1}}})";

TEST(Example, PackedAndUnpackedListsAreTheSame) {
  const std::string expected = R"({"a":[[1,-1],[0,2]],"b":[["hi"],[0,1]],"c":[[0.5],[0,1]]})";
  EXPECT_EQ(
      decoded(
          abc,
          {"0a320a140a0161120f1a0d0a0b01ffffffffffffffffff010a0b0a016212060a040a0268690a0d0a0163120812060a040000003f"}),
      expected);
  EXPECT_EQ(
      decoded(
          abc,
          {"0a310a140a0161120f1a0d080108ffffffffffffffffff010a0b0a016212060a040a0268690a0c0a0163120712050d0000003f"}),
      expected);
}

TEST(Example, SeveralRunsOfOneListAreJoined) {
  EXPECT_EQ(decoded(a_list, {"0a110a0f0a0161120a1a080801"
                             "0a020203"
                             "0804"}),
            R"({"a":[[1,2,3,4],[0,4]]})");
}

TEST(Example, LongListsAreReadInPiecesThatAreSeenNowhere) {
  Ints ints;  // of one to ten bytes each, so that pieces of any size end inside one
  for (std::int64_t i = 0; i < 700'000; ++i) ints.push_back(i % 5 == 0 ? -i : i << (i % 6 * 7));
  Floats floats(600'000);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i);
  std::string as_int64 = "[", as_int32 = "[", as_float64 = "[";
  for (const std::int64_t value : ints) {
    as_int64 += std::to_string(value) + ",";
    as_int32 += std::to_string(static_cast<std::int32_t>(value)) + ",";
  }
  for (std::size_t i = 0; i < floats.size(); ++i) as_float64 += std::to_string(i) + ".0,";
  as_int64.back() = as_int32.back() = as_float64.back() = ']';
  const std::vector<ExampleMap> examples{{{"i", ints}, {"f", floats}}};
  const std::string splits = ",[0,700000]]", float_splits = ",[0,600000]]";
  EXPECT_TRUE(of_examples(R"({"features": {"i": {"kind": "var_len", "dtype": "int64"}}})", examples) ==
              R"({"i":[)" + as_int64 + splits + "}");
  EXPECT_TRUE(of_examples(R"({"features": {"i": {"kind": "var_len", "dtype": "int32"}}})", examples) ==
              R"({"i":[)" + as_int32 + splits + "}");
  EXPECT_TRUE(of_examples(R"({"features": {"i": {"dtype": "int32", "shape": [700000]}}})", examples) ==
              R"({"i":[)" + as_int32 + "]}");
  EXPECT_TRUE(of_examples(R"({"features": {"f": {"kind": "var_len", "dtype": "float64"}}})", examples) ==
              R"({"f":[)" + as_float64 + float_splits + "}");
  for (const char* wrong : {"699999", "700001"}) {
    EXPECT_THAT(
        of_examples(R"({"features": {"i": {"dtype": "int32", "shape": [)" + std::string{wrong} + "]}}}", examples),
        HasSubstr("expected " + std::string{wrong} + " int64 values"));
  }
}

TEST(Example, TheLastEntryOfAKeyWins) {
  EXPECT_EQ(decoded(a_one, {"0a0c0a0a0a016112051a030a01010a0c0a0a0a016112051a030a0102"}), R"({"a":[[2]]})");
  EXPECT_EQ(decoded(a_one, {"0a180a0a0a016112051a030a01010a0a0a016112051a030a0102"}), R"({"a":[[2]]})");
  EXPECT_EQ(decoded(a_list, {"0a180a0a0a016112051a030a01010a0a0a016112051a030a0102"}), R"({"a":[[2],[0,1]]})");
}

TEST(Example, ALastEntryWithoutKindHidesAnEarlierOne) {
  EXPECT_EQ(decoded(a_default, {"0a130a0a0a016112051a030a01010a050a01611200"}), R"({"a":[[-1]]})");
}

TEST(Example, KeyAndValueMayComeInEitherOrder) {
  EXPECT_EQ(decoded(a_one, {"0a0c0a0a12051a030a01050a0161"}), R"({"a":[[5]]})");
}

TEST(Example, UnknownFieldsArePassedOverEverywhere) {
  // Example, Features, entry, Feature and list each carry a field 15.
  EXPECT_EQ(decoded(a_one, {"7801"
                            "0a14"
                            "7801"
                            "0a10"
                            "7801"
                            "0a0161"
                            "1209"
                            "7801"
                            "1a05"
                            "7801"
                            "0a0105"}),
            R"({"a":[[5]]})");
}

TEST(Example, TheLastKindOfAFeatureWins) {
  EXPECT_EQ(decoded(a_one, {"0a130a110a0161120c"
                            "12060a040000003f"
                            "1a020805"}),
            R"({"a":[[5]]})");
}

TEST(Example, OverLongVarintsUpToTenBytesAreRead) {
  EXPECT_EQ(decoded(a_one, {"8a80008c808080000a0a0a016112051a030a0105"}), R"({"a":[[5]]})");
  EXPECT_EQ(decoded(a_one, {"0a130a110a0161120c1a0a0a08858080808080"
                            "8000"}),
            R"({"a":[[5]]})");
}

TEST(Example, MalformedMessagesAreDataLoss) {
  const auto json = parse_json(a_one);
  const auto bound = decoders::example().bind(*json, {});
  ASSERT_TRUE(bound.ok());
  const std::vector<std::string> bad{
      "0a0d0a0a0a016112051a030a0101",                                      // longer than the message
      "0a0c0a0b0a016112051a030a0101",                                      // entry longer than the map
      "0a0c0a0a0a016112051a030a0180",                                      // varint without an end
      "0a1e0a1c0a016112171a150a13ffffffffffffffffffffffffffffffffffff01",  // varint of more than 10 bytes
      "0a0c0a0a0a016112051a030a0201",                                      // run longer than its list
      "0000",
      "0e00",
      "0f00",                    // field 0, wire types 6 and 7
      "0affffffffffffffffff01",  // length -1
      "0c",                      // end of a group that never began
  };
  for (const std::string& hex : bad) {
    const Records records{{bytes_of(hex)}};
    ColumnBlock block;
    block.columns.emplace_back(bound->out[0]).set_rows(1);
    const auto done = bound->op->decode(records.all(), 0, block, *bound->op->memory());
    ASSERT_FALSE(done.ok()) << hex;
    EXPECT_EQ(done.error().detail(), Detail::data_loss) << hex << ": " << done.error().text();
    EXPECT_EQ(done.error().place().row, 0);
  }
}

TEST(Example, EveryCutOfAMessageFailsOrIsAWholeMessage) {
  const std::string whole = bytes_of(
      "0a320a140a0161120f1a0d0a0b01ffffffffffffffffff010a0b0a016212060a040a0268690a0d0a0163120812060a040000003f");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_THAT(decoded(decoders::example(), abc, {whole.substr(0, size)}), HasSubstr("row 0: not a tf.train.Example"))
        << size;
  }
  EXPECT_EQ(decoded(decoders::example(), abc, {""}), R"({"a":[[],[0,0]],"b":[[],[0,0]],"c":[[],[0,0]]})");
}

TEST(Example, GroupsAreSkippedUpToAHundredDeep) {
  const std::string tail = bytes_of("0a0c0a0a0a016112051a030a0105");
  const auto nested = [&](std::size_t depth) { return std::string(depth, '\x7b') + std::string(depth, '\x7c') + tail; };
  EXPECT_EQ(decoded(decoders::example(), a_one, {nested(100)}), R"({"a":[[5]]})");
  EXPECT_THAT(decoded(decoders::example(), a_one, {nested(101)}), HasSubstr("not a tf.train.Example"));
  EXPECT_THAT(decoded(decoders::example(), a_one, {std::string(1'000'000, '\x7b')}),
              HasSubstr("not a tf.train.Example"));
}

TEST(Example, AWrongKindIsAnErrorEvenWhenTheListIsEmpty) {
  EXPECT_EQ(of_examples(a_list, {{{"a", Floats{}}}}),
            "row 0: feature 'a': expected a list of int64, found a list of float; correct `dtype` or `stored`, or the "
            "writer of the file");
}

TEST(Example, AMissingFeatureTakesItsDefaultOrIsAnError) {
  EXPECT_EQ(of_examples(a_default, {{{"a", Ints{1}}}, {}, {{"a", std::monostate{}}}}), R"({"a":[[1,-1,-1]]})");
  EXPECT_THAT(of_examples(a_one, {{{"a", Ints{1}}}, {}}), HasSubstr("row 1: feature 'a': is required"));
}

TEST(Example, AnEmptyTypedListIsPresentWithoutValues) {
  EXPECT_THAT(of_examples(a_default, {{{"a", Ints{}}}}),
              HasSubstr("row 0: feature 'a': expected 1 int64 values (shape []), found 0"));
}

TEST(Example, ADefaultWithoutElementsIsADefault) {
  EXPECT_EQ(of_examples(R"({"features": {"a": {"dtype": "int64", "shape": [0], "default": []}}})", {{}}),
            R"({"a":[[]]})");
}

TEST(Example, AFlatDefaultFillsAMatrix) {
  EXPECT_EQ(
      of_examples(R"({"features": {"a": {"dtype": "float32", "shape": [2, 2], "default": [1, 2, 3, 4.5]}}})", {{}}),
      R"({"a":[[1.0,2.0,3.0,4.5]]})");
}

TEST(Example, StoredNumbersAreConverted) {
  EXPECT_EQ(
      of_examples(R"({"features": {"a": {"dtype": "int32", "shape": [3], "stored": "float"}, "b": {"dtype": "bool"},
                                         "c": {"dtype": "float64", "shape": [2]}, "d": {"dtype": "float32", "stored": "int"}}})",
                  {{{"a", Floats{1.9F, -1.9F, 3}}, {"b", Ints{7}}, {"c", Floats{0.5, 2}}, {"d", Ints{-3}}}}),
      R"({"a":[[1,-1,3]],"b":[[1]],"c":[[0.5,2.0]],"d":[[-3.0]]})");
}

TEST(Example, SequencesHaveAsManyStepsAsTheirValuesMake) {
  constexpr auto options = R"({"features": {"s": {"dtype": "float32", "shape": [-1, 2, 1]}}})";
  EXPECT_EQ(of_examples(options, {{}, {{"s", Floats{1, 1}}}, {{"s", Floats{-1, -1, 2, 2}}}, {{"s", Floats{}}}}),
            R"({"s":[[1.0,1.0,-1.0,-1.0,2.0,2.0],[0,0,2,6,6]]})");
  EXPECT_THAT(of_examples(options, {{{"s", Floats{1, 2, 3}}}}), HasSubstr("3 float values are not a multiple of 2"));
}

TEST(Example, SparseFeaturesAreSortedByIndexAndKeepRepeatedOnes) {
  constexpr auto options =
      R"({"features": {"s": {"kind": "sparse", "dtype": "string", "index_key": "i", "value_key": "v", "size": 13}}})";
  EXPECT_EQ(of_examples(options, {{{"i", Ints{0, 3}}, {"v", Strings{"a", "b"}}},
                                  {{"i", Ints{7, 1, 1}}, {"v", Strings{"c", "d", "e"}}},
                                  {}}),
            R"({"s":[["a","b","d","e","c"],[0,2,5,5],[[0,3,1,1,7],[0,2,5,5]]]})");
  EXPECT_THAT(of_examples(options, {{{"i", Ints{13}}, {"v", Strings{"a"}}}}),
              HasSubstr("key 'i': index 13 is outside of axis 0, whose size is 13"));
  EXPECT_THAT(of_examples(options, {{{"i", Ints{1, 2}}, {"v", Strings{"a"}}}}), HasSubstr("2 indices for 1 values"));
}

TEST(Example, OneSizeOfAShapeMayFollowFromTheValues) {
  constexpr auto options = R"({"features": {"x": {"dtype": "int64", "shape": [2, -1, 1]},
                                            "r": {"kind": "raw", "dtype": "uint8", "shape": [2, -1], "endian": "little"}}})";
  const auto bound = decoders::example().bind(*parse_json(options), {});
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  EXPECT_EQ(bound->out[0].shape, (Shape{2, unknown_dim, 1}));
  EXPECT_EQ(bound->out[1].shape, (Shape{2, unknown_dim}));
  const ExampleMap wide{{"x", Ints{1, 2, 3, 4}}, {"r", Strings{"abcdef"}}};
  const ExampleMap narrow{{"x", Ints{5, 6}}, {"r", Strings{""}}};
  EXPECT_EQ(of_examples(options, {wide, narrow}),
            R"({"x":[[1,2,3,4,5,6],[0,4,6]],"r":[[97,98,99,100,101,102],[0,6,6]]})");
  EXPECT_THAT(of_examples(options, {{{"x", Ints{1, 2, 3}}, {"r", Strings{""}}}}),
              HasSubstr("3 int64 values are not a multiple of 2, the size of one step (shape [2,1])"));
  EXPECT_THAT(of_examples(options, {{{"x", Ints{}}, {"r", Strings{"abc"}}}}), HasSubstr("3 bytes are not a multiple"));
  EXPECT_THAT(of_examples(R"({"features": {"x": {"dtype": "int64", "shape": [2, -1], "as": "ragged"}}})", {}),
              HasSubstr("rows of shape [2,?] differ behind their first axis; hand them over padded or equal"));
}

TEST(Example, RaggedPartitionsOfEveryKindGiveTheSameSplits) {
  const std::vector<std::pair<std::string, Ints>> kinds{{"row_splits", {0, 2, 3, 3, 6}},
                                                        {"row_lengths", {2, 1, 0, 3}},
                                                        {"row_starts", {0, 2, 3, 3}},
                                                        {"row_limits", {2, 3, 3, 6}},
                                                        {"value_rowids", {0, 0, 1, 3, 3, 3}}};
  for (const auto& [kind, numbers] : kinds) {
    const std::string options =
        R"({"features": {"r": {"kind": "ragged", "dtype": "int64", "value_key": "v", "partitions": [[")" + kind +
        R"(", "p"]]}}})";
    EXPECT_EQ(of_examples(options, {{{"v", Ints{3, 1, 4, 1, 5, 9}}, {"p", numbers}}, {}}),
              R"({"r":[[3,1,4,1,5,9],[0,6,6],[[0,2,3,3,6,0],[0,5,6]]]})")
        << kind;
  }
}

TEST(Example, TwoRaggedLevelsCountWithinTheirRecord) {
  constexpr auto options = R"({"features": {"r": {"kind": "ragged", "dtype": "int64", "value_key": "v",
                                            "partitions": [["row_splits", "outer"], ["row_splits", "inner"], ["uniform_row_length", 1]]}}})";
  EXPECT_EQ(of_examples(options,
                        {{{"v", Ints{3, 1, 4, 1, 5, 9}}, {"inner", Ints{0, 2, 3, 3, 6}}, {"outer", Ints{0, 2, 3, 4}}}}),
            R"({"r":[[3,1,4,1,5,9],[0,6],[[0,2,3,4],[0,4]],[[0,2,3,3,6],[0,5]]]})");
}

TEST(Example, PartitionsThatNobodyValidatesAreKeptAsTheyAre) {
  const std::vector<std::tuple<std::string, Ints, std::string>> kinds{{"row_splits", {2, 1, 9}, "1,9"},
                                                                      {"row_lengths", {2, -1, 9}, "2,-1,9"},
                                                                      {"row_starts", {2, 1, 9}, "2,1,9"},
                                                                      {"row_limits", {2, 1, 9}, "2,1,9"},
                                                                      {"value_rowids", {2, 1, 9}, "2,1,9"}};
  for (const auto& [kind, numbers, kept] : kinds) {
    const std::string options =
        R"({"features": {"r": {"kind": "ragged", "dtype": "int64", "value_key": "v", "validate": false,
            "partitions": [[")" +
        kind + R"(", "p"]]}}})";
    const std::string count = kind == "row_splits" ? "2" : "3";
    EXPECT_EQ(of_examples(options, {{{"v", Ints{3, 1}}, {"p", numbers}}}),
              R"({"r":[[3,1],[0,2],[[)" + kept + "],[0," + count + "]]]}")
        << kind;
  }
}

TEST(Example, PartitionsThatDoNotFitAreRefused) {
  constexpr auto options =
      R"({"features": {"r": {"kind": "ragged", "dtype": "int64", "value_key": "v", "partitions": [["row_splits",
          "p"]]}}})";
  for (const Ints& splits : {Ints{}, Ints{1, 2}, Ints{0, 2, 1, 2}, Ints{0, 1}}) {
    EXPECT_THAT(of_examples(options, {{{"v", Ints{3, 1}}, {"p", splits}}}), HasSubstr("does not fit the 2 values"));
  }
  constexpr auto ids =
      R"({"features": {"r": {"kind": "ragged", "dtype": "int64", "value_key": "v", "partitions": [["value_rowids",
          "p"]]}}})";
  EXPECT_THAT(of_examples(ids, {{{"v", Ints{3}}, {"p", Ints{std::int64_t{1} << 40}}}}),
              HasSubstr("row id 1099511627776 is above"));
}

TEST(Example, RawBytesAreReadInTheirByteOrder) {
  constexpr auto options = R"({"features": {"l": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "little"},
                                            "b": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "big"},
                                            "n": {"kind": "raw", "dtype": "uint8", "shape": [2], "endian": "big", "len": 2},
                                            "f": {"kind": "raw", "dtype": "uint8", "shape": [4], "endian": "big", "fixed_length": 4}}})";
  const ExampleMap example{{"l", Strings{"\x01\x02\x03\x04"}},
                           {"b", Strings{"\x01\x02\x03\x04"}},
                           {"n", Strings{"ab", "cd"}},
                           {"f", Strings{"12"}}};
  EXPECT_EQ(
      of_examples(options, {example, example}),
      R"({"l":[[513,1027,513,1027]],"b":[[258,772,258,772]],"n":[[97,98,99,100,97,98,99,100]],"f":[[49,50,0,0,49,50,0,0]]})");
  EXPECT_THAT(
      of_examples(R"({"features": {"l": {"kind": "raw", "dtype": "uint16", "shape": [2], "endian": "little"}}})",
                  {{{"l", Strings{"abc"}}}}),
      HasSubstr("expected 4 bytes for 2 uint16"));
}

TEST(Example, OnlyWantedFeaturesAreRead) {
  const auto json = parse_json(R"({"features": {"x": {"dtype": "int64"}, "y": {"dtype": "int64"}}})");
  const auto bound = decoders::example().bind(*json, {"y"});
  ASSERT_TRUE(bound.ok());
  const Records records{
      {encode_example({{"y", Ints{4}}, {"z", Floats{1}}}), encode_example({{"x", Floats{1}}, {"y", Ints{5}}})}};
  ColumnBlock block;
  block.columns.resize(2);
  block.columns[1] = Column{bound->out[1]};
  block.columns[1].set_rows(2);
  ASSERT_TRUE(bound->op->decode(records.all(), 0, block, *bound->op->memory()).ok());
  EXPECT_EQ(json_of(block[1]).text(), "[[4,5]]");
}

TEST(Example, EveryFaultOfTheOptionsIsReported) {
  const std::string text = decoded(R"({"features": {
    "a": {"dtype": "int64", "shape": [2, -1, -1]}, "b": {"dtype": "int64", "shape": [2], "default": [1]}, "c": {"kind": "raw", "dtype": "uint8"},
    "d": {"kind": "sparse", "dtype": "int64", "index_key": ["i", "j"], "value_key": "v", "size": [3]},
    "e": {"dtype": "float32", "shape": [8589934592, 8589934592]}, "f": {"dtype": "string", "stored": "int"},
    "g": {"kind": "var_len", "dtype": "float32", "key": "a2"}, "h": {"kind": "ragged", "dtype": "float32", "value_key": "a2"},
    "i": {"kind": "var_len", "dtype": "complex64"}}})",
                                   {});
  for (const char* part :
       {"feature 'a': size -1 of axis 1", "feature 'b': default has 1 values, but shape [2] takes 2",
        "feature 'c': raw numbers need their byte order", "feature 'd': has 1 sizes for 2 index keys",
        "feature 'e': [8589934592,8589934592] has more than", "feature 'f': bytes and numbers",
        "feature 'h': key 'a2' is already used by feature 'g'",
        "feature 'i': a list of ints or floats cannot become complex64; use kind raw"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ExampleCodec, WhatWasEncodedIsDecodedAgain) {
  const ExampleMap map{{"a", Ints{1, -1, 300}}, {"b", Floats{0.5F}}, {"c", Strings{"x", ""}},
                       {"d", std::monostate{}}, {"e", Ints{}},       {"", Strings{}}};
  const auto again = decode_example(encode_example(map));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, map);
  EXPECT_FALSE(decode_example("\x0a\x05").ok());
}

}  // namespace
}  // namespace forebay::testing
