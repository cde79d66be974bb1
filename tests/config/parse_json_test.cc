// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <forebay/json.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

std::string text_of(std::string_view text) {
  auto json = parse_json(text);
  return json.ok() ? json->text() : json.error().text();
}

TEST(ParseJson, EveryKindOfValueSurvives) {
  const std::string text = R"({"a":null,"b":[true,false],"c":-3,"d":2.5,"e":"x\"\\\n","f":{},"g":[]})";
  EXPECT_EQ(text_of(text), text);
}
TEST(ParseJson, AValueThatIsNoObjectIsFine) { EXPECT_EQ(text_of(" 7 "), "7"); }
TEST(ParseJson, CommentsEndWithTheLineAndDoNotStartInsideStrings) {
  EXPECT_EQ(text_of("// first\n{\"a\": \"gs://b\", // \"x\n \"c\": 1} // end"), R"({"a":"gs://b","c":1})");
}
TEST(ParseJson, AQuoteAfterABackslashDoesNotEndAString) { EXPECT_EQ(text_of(R"(["\"//\"", 1])"), R"(["\"//\"",1])"); }
TEST(ParseJson, OtherCommentsAreRefused) {
  EXPECT_EQ(text_of("[1, /* x */ 2]"), "line 1:5: comments are written with // only");
}
TEST(ParseJson, ARawLineBreakOrTabInATextIsNamed) {
  const std::string why = "a line break or control character inside a string; write it as \\n or \\u000a";
  EXPECT_EQ(text_of("[\"a\nb\"]"), "line 1:4: " + why);
  EXPECT_EQ(text_of("[\"a\tb\"]"), "line 1:4: " + why);
  EXPECT_EQ(text_of("[\"a\\qb\"]"), "line 1:4: unknown escape in a string after a backslash");
}
TEST(ParseJson, CompressedAndBinaryDataIsSentToHead) {
  const std::string why =
      "line 1:1: this is not JSON but compressed or binary data, such as a record file; `forebay head` shows records";
  EXPECT_EQ(text_of("\x1f\x8b\x08"), why);
  EXPECT_EQ(text_of(std::string_view{"\x10\0\0\0", 4}), why);
}
TEST(ParseJson, ValuesKnowPointerLineColumnAndFile) {
  const Json json = *parse_json("{\"a\": [1,\n  {\"b/~\": // why\n\t\"é\", \"c\":2}]}", "dir/run.json");
  const Json& inner = json.find("a")->items()[1];
  const Place& place = inner.find("c")->place();
  EXPECT_EQ(place.file, "dir/run.json");
  EXPECT_EQ(place.pointer, "/a/1/c");
  EXPECT_EQ(place.line, 3);
  EXPECT_EQ(place.column, 11);
  EXPECT_EQ(inner.find("b/~")->place().pointer, "/a/1/b~1~0");
  EXPECT_EQ(inner.find("b/~")->place().column, 2);
  EXPECT_EQ(inner.place().column, 3);
  EXPECT_EQ(inner.place().line, 2);
  EXPECT_EQ(json.place().pointer, "");
  EXPECT_EQ(json.place().column, 1);
}
TEST(ParseJson, ARepeatedKeyIsRefusedWithBothLines) {
  EXPECT_EQ(text_of("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}"),
            "line 3:2: the key 'a' is written twice in one object, on line 1 and on line 3");
}
TEST(ParseJson, IntegersBeyond64BitsBecomeNumbers) {
  EXPECT_EQ(text_of("[9223372036854775807, -9223372036854775808]"), "[9223372036854775807,-9223372036854775808]");
  EXPECT_EQ(parse_json("9223372036854775808")->kind(), Json::Kind::number);
}
TEST(ParseJson, FloatsKeepEveryBitAndStayFloats) {
  EXPECT_EQ(text_of("[1.0, 0.1, 1e-7, 1e16, 5e-324, 1e-400, -0.0]"), "[1.0,0.1,1e-07,1e+16,5e-324,0.0,-0.0]");
}
TEST(ParseJson, NumbersThatNoFloatHoldsAreRefused) {
  EXPECT_EQ(text_of("[1,\n 1e400]").substr(0, 10), "line 2:2: ");
  EXPECT_NE(text_of("-1e400").find("too large"), std::string::npos);
  EXPECT_NE(text_of(std::string(400, '9')).find("too large"), std::string::npos);
}
TEST(ParseJson, NanAndInfinityAreNoValues) {
  EXPECT_EQ(text_of("[NaN]"),
            "line 1:2: NaN is not a JSON value; where a float may be it, \"nan\", \"inf\" and \"-inf\" say it");
  EXPECT_NE(text_of("{\"a\": -Infinity}").find("-Infinity is not a JSON value"), std::string::npos);
}
TEST(ParseJson, TrailingCommasAreRefused) {
  EXPECT_EQ(text_of("[1,]"), "line 1:4: a trailing comma before ']' is not JSON");
  EXPECT_EQ(text_of("{\"a\": 1, }"), "line 1:10: a trailing comma before '}' is not JSON");
}
TEST(ParseJson, AByteOrderMarkIsNamed) {
  EXPECT_NE(text_of("\xef\xbb\xbf{}").find("line 1:1: the document starts with a byte order mark"), std::string::npos);
}
TEST(ParseJson, HalfASurrogatePairIsRefused) {
  EXPECT_NE(text_of(R"(["\ud800"])").find("surrogate"), std::string::npos);
  EXPECT_NE(text_of(R"(["\udc00"])").find("surrogate"), std::string::npos);
  EXPECT_NE(text_of(R"(["\udc7f"])").find("surrogate"), std::string::npos);
  EXPECT_NE(text_of(R"(["\ud83d\ud83d\udc80"])").find("surrogate"), std::string::npos);
  EXPECT_EQ(text_of(R"(["\ud83d\ude00"])"), "[\"\xf0\x9f\x98\x80\"]");
  EXPECT_EQ(text_of(R"(["\ud83d\udc80"])"), "[\"\xf0\x9f\x92\x80\"]");
}
TEST(ParseJson, BytesThatAreNoTextAreEscapes) {
  const Json json = *parse_json("{\"\\udcffa\": \"\\u00e9\\n\\\\\xc3\xa9\\ud83d\\ude00\\uDC80\\\"\\udcfe\"}");
  EXPECT_EQ(json.members()[0].first,
            "\xff"
            "a");
  EXPECT_EQ(json.members()[0].second.string(), "\xc3\xa9\n\\\xc3\xa9\xf0\x9f\x98\x80\x80\"\xfe");
  EXPECT_NE(text_of(R"({"\udcff": 1, "\udcff": 2})").find("twice"), std::string::npos);
}
TEST(ParseJson, TextThatIsNotUtf8IsRefused) {
  for (const char* text : {"[\"\xff\"]", "[\"\xc0\xaf\"]", "[\"\xed\xa0\x80\"]", "{\"\xe9\": 1}"}) {
    EXPECT_NE(text_of(text).find("UTF-8"), std::string::npos) << text_of(text);
  }
}
TEST(ParseJson, SixtyFourLevelsPassAndOneMoreDoesNot) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(text_of(std::string(65, '[') + std::string(65, ']')).substr(0, 10), "line 1:65,");
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')).ok());
}
TEST(ParseJson, AMillionValuesIsTheMost) {
  std::string text = "[0";
  for (int i = 0; i < 1'000'000; ++i) text += ",0";
  EXPECT_NE(text_of(text + "]").find("more than 1000000 values"), std::string::npos);
}
TEST(ParseJson, ALongKeyIsNotRepeatedInEveryPointer) {
  const Json json = *parse_json("{\"" + std::string(100'000, 'k') + "\": [1, 2]}");
  EXPECT_LT(json.members()[0].second.items()[1].place().pointer.size(), 300U);
}
TEST(ParseJson, MoreThan64MiBIsRefused) { EXPECT_FALSE(parse_json(std::string((64U << 20) + 1, ' ')).ok()); }
TEST(ParseJson, BrokenTextIsRefusedWithItsPlace) {
  for (const std::string_view text :
       {"",   " // only\n", "{",       "[1", "\"abc", "{\"a\" 1}", "{a: 1}", "{'a': 1}", "[1 2]", "{} {}",       "tru",
        "01", "[\"a\nb\"]", "\"\\x\"", "+1", ".5",    "1.",        "-",      "[1}",      "]",     "\"\\u12g4\"", "/"}) {
    const auto json = parse_json(text, "f.json");
    ASSERT_FALSE(json.ok()) << text;
    EXPECT_EQ(json.error().code(), Code::config);
    EXPECT_EQ(json.error().text().substr(0, 7), "f.json:") << json.error().text();
  }
}
TEST(ParseJson, NulBytesAreNotTheEnd) {
  EXPECT_FALSE(parse_json(std::string_view{"{}\0x", 4}).ok());
  EXPECT_FALSE(parse_json(std::string_view{"[1,\0 2]", 7}).ok());
  EXPECT_FALSE(parse_json(std::string_view{"\"a\0b\"", 5}).ok());
  EXPECT_EQ(parse_json(R"("a\u0000b")")->string(), std::string("a\0b", 3));
}

TEST(Json, EqualityIgnoresPlacesAndTheOrderOfKeys) {
  EXPECT_EQ(*parse_json(R"({"a": 1, "b": [2.0]})"), *parse_json("\n{\"b\": [2.0], \"a\": 1}"));
  EXPECT_FALSE(*parse_json("1") == *parse_json("1.0"));
}
TEST(Json, PrettyTextIndentsByTwoAndKeepsFlatListsOnALine) {
  EXPECT_EQ(parse_json(R"({"a":[1,2],"b":[{"c":{}}]})")->pretty(),
            "{\n  \"a\": [1, 2],\n  \"b\": [\n    {\n      \"c\": {}\n    }\n  ]\n}");
}
TEST(Json, BytesThatAreNoTextAreWrittenSoThatTheyAreReadAgain) {
  EXPECT_EQ(Json{"a\xff\x01"}.text(), "\"a\\udcff\\u0001\"");
  for (const std::string text :
       {"\xc3", "\xc3\xa9\xc3", "\xed\xb0\x80", "/d\xff/\xf0\x9f\x98\x80\xf0\x9f.csv", "\\udcff"})
    EXPECT_EQ(parse_json(Json{text}.text())->string(), text);
}

}  // namespace
}  // namespace forebay
