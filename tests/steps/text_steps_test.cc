// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/blocks.h"

namespace forebay::steps {
StepType check_utf8();
StepType split_text();
StepType lookup();
StepType byte_ids();
StepType ngrams();

namespace {

using testing::HasSubstr;

std::string text_of(const StepType& type, std::string_view options, std::string_view in) {
  const auto out = test::run_step(type, options, in);
  return out.ok() ? out->text() : out.error().text();
}

TEST(CheckUtf8, ReplacesEachBrokenPartOnce) {
  // Overlong, a surrogate, above U+10FFFF, a sequence that ends early, a lone continuation.
  const auto replaced = [](std::string_view base64) {
    return text_of(check_utf8(), R"({"tensor": "t", "invalid": "replace"})",
                   R"({"t": ["base64:)" + std::string{base64} + R"("]})");
  };
  EXPECT_EQ(replaced("wK8="), "{\"t\":[\"\xef\xbf\xbd\xef\xbf\xbd\"]}");
  EXPECT_EQ(replaced("7aCA"), "{\"t\":[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]}");
  EXPECT_EQ(replaced("9JCAgA=="), "{\"t\":[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]}");
  EXPECT_EQ(replaced("YeKCYg=="),
            "{\"t\":[\"a\xef\xbf\xbd"
            "b\"]}");
  EXPECT_EQ(replaced("gA=="), "{\"t\":[\"\xef\xbf\xbd\"]}");
}

TEST(CheckUtf8, AnErrorNamesTheByte) {
  EXPECT_THAT(text_of(check_utf8(), R"({"tensor": "t"})", R"({"t": ["ok", "base64:Yf9i"]})"),
              HasSubstr("byte 1 of the string, 0xff, is no UTF-8"));
  EXPECT_THAT(text_of(check_utf8(), R"({"tensor": "t"})", R"({"t": [1]})"), HasSubstr("this step takes strings"));
}

TEST(SplitText, SeparatorsAreFoundFromTheLeftAndTokensBetweenThemMayBeEmpty) {
  const auto split = [](const std::string& more, std::string_view text) {
    return text_of(split_text(), R"({"tensor": "t")" + more + "}", R"({"t": [")" + std::string{text} + R"("]})");
  };
  EXPECT_EQ(split(R"(, "separator": "aa")", "xaaay"), R"({"t":[["x","ay"]]})");
  EXPECT_EQ(split(R"(, "separator": ",")", ",a,,b,"), R"({"t":[["","a","","b",""]]})");
  EXPECT_EQ(split(R"(, "separator": ",", "skip_empty": true)", ",a,,b,"), R"({"t":[["a","b"]]})");
  EXPECT_EQ(split(R"(, "separator": ",")", ""), R"({"t":[[""]]})");
  EXPECT_EQ(split(R"(, "max_tokens": 2)", "  one two three"), R"({"t":[["one","two"]]})");
  EXPECT_THAT(split(R"(, "separator": "")", "a"), HasSubstr("/separator: must not be empty"));
  EXPECT_THAT(split(R"(, "max_tokens": 0)", "a"), HasSubstr("max_tokens"));
}

TEST(Lookup, UnknownStringsAreFaultsOrNumbers) {
  const auto look = [](const std::string& more) {
    return text_of(lookup(), R"({"tensor": "t", "tokens": ["a", "b"])" + more + "}", R"({"t": ["b", "z", "a"]})");
  };
  EXPECT_THAT(look(""), HasSubstr("'z' is not in the vocabulary"));
  EXPECT_EQ(look(R"(, "unknown": "id")"), R"({"t":[1,-1,0]})");
  EXPECT_EQ(look(R"(, "unknown": "hash", "buckets": 1, "first_id": 5)"), R"({"t":[6,7,5]})");
}

TEST(Lookup, HostileOptionsAreRefused) {
  const auto refused = [](const std::string& options) {
    return text_of(lookup(), R"({"tensor": "t", )" + options + "}", R"({"t": ["a"]})");
  };
  EXPECT_THAT(refused(R"("tokens": [])"), HasSubstr("give either a file or a list of tokens"));
  EXPECT_THAT(refused(R"("tokens": ["a"], "file": "v.txt")"), HasSubstr("give either a file or a list of tokens"));
  EXPECT_THAT(refused(R"("tokens": ["a", "b", "a"])"), HasSubstr("/tokens/2: 'a' is there twice"));
  EXPECT_THAT(refused(R"("tokens": ["a"], "dtype": "float32")"), HasSubstr("numbers are int64 or int32, not float32"));
  EXPECT_THAT(refused(R"("tokens": ["a"], "dtype": "int32", "first_id": 2147483647)"),
              HasSubstr("int32 does not hold the number 2147483648"));
  EXPECT_THAT(refused(R"("tokens": ["a"], "unknown": "hash", "dtype": "int32", "buckets": 4611686018427387904)"),
              HasSubstr("int32 does not hold the number"));
}

TEST(ByteIds, NumbersThatDoNotFitTheTypeAreRefused) {
  const auto ids = [](const std::string& more) {
    return text_of(byte_ids(), R"({"tensor": "t")" + more + "}", R"({"t": ["base64:AP8="]})");
  };
  EXPECT_EQ(ids(""), R"({"t":[[0,255]]})");
  EXPECT_EQ(ids(R"(, "start": -1, "max_bytes": 1)"), R"({"t":[[-1,0]]})");
  EXPECT_EQ(ids(R"(, "dtype": "uint8", "max_bytes": 0)"), R"({"t":[[]]})");
  EXPECT_THAT(ids(R"(, "dtype": "uint8", "offset": 1)"), HasSubstr("uint8 does not hold the numbers 1 to 256"));
  EXPECT_THAT(ids(R"(, "dtype": "int16", "end": 32768)"), HasSubstr("int16 does not hold the numbers 32768"));
  EXPECT_THAT(ids(R"(, "offset": 9223372036854775807)"), HasSubstr("/offset: must be from"));
}

TEST(Ngrams, HashesOfTokensAreThoseOfTheJoinedText) {
  const std::string buckets = R"(, "buckets": 1000003)";
  const auto grams = [](const std::string& more, std::string_view in) {
    return text_of(ngrams(), R"({"tensor": "t")" + more + "}", in);
  };
  const std::string pair = R"(, "min": 2, "max": 2)";
  const std::string triple = R"(, "min": 3, "max": 3)";
  EXPECT_EQ(grams(pair + buckets, R"({"t": [["a", "b"]]})"), grams(triple + buckets, R"({"t": ["a b"]})"));
  EXPECT_EQ(grams(pair, R"({"t": [["a"], ["b", "c"]]})"), R"({"t":[[],["b c"]]})");
  EXPECT_THAT(grams(R"(, "min": 3, "max": 2)", R"({"t": ["abc"]})"), HasSubstr("/max: must be at least `min`, 3"));
}

}  // namespace
}  // namespace forebay::steps
