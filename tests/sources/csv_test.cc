// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/csv.h>

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/csv/record_ends.h"
#include "tests/sources/plain_csv.h"
#include "tests/sources/windows.h"

namespace forebay::sources {
SourceType csv();

namespace {

using ::testing::HasSubstr;
using tests::format_of;
using tests::scan_in_windows;
using tests::WindowScan;
using Texts = std::vector<std::string>;

constexpr std::size_t whole_csv = std::size_t{1} << 30;

WindowScan scan_csv(const std::string& content, const std::string& more = "") {
  const auto format = format_of(csv(), R"({"files": ["a"])" + more + "}");
  return scan_in_windows(*format, content, whole_csv, whole_csv);
}

std::string random_text(std::minstd_rand& random, std::string_view letters, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += letters[random() % letters.size()];
  return out;
}

TEST(Csv, ALineEndOutsideOfQuotesEndsARecord) {
  EXPECT_EQ(scan_csv("1,\"a\nb\"\r\n\"\"\"\n\",2\n\n3").records, (Texts{"1,\"a\nb\"", "\"\"\"\n\",2", "", "3"}));
  EXPECT_EQ(scan_csv("1,\"a\nb\"\n", R"(, "use_quote_delim": false)").records, (Texts{"1,\"a", "b\""}));
  EXPECT_EQ(scan_csv("a\rb\n\r\n").records, (Texts{"a\rb", ""}));
}

TEST(Csv, AQuoteInAFieldIsTextAndOpensNothing) {
  EXPECT_EQ(scan_csv("a\"b\nc\"\n\"x\"y\"\nz\n").records, (Texts{"a\"b", "c\"", "\"x\"y\"", "z"}));
}

TEST(Csv, AnyWindowsAndLimitsFindTheRecordsThatThePlainRuleFinds) {
  std::minstd_rand random{11};
  for (int round = 0; round < 150; ++round) {
    const std::string_view letters = round % 3 == 0 ? "a,\"\n" : round % 3 == 1 ? "ab,,\"\"\r\n" : "abcdefgh,\"\n\n";
    const std::string content = random_text(random, letters, random() % 500);
    const auto format = format_of(csv(), R"({"files": ["a"]})");
    const WindowScan expected = scan_in_windows(*format, content, whole_csv, whole_csv);
    EXPECT_EQ(expected.records, tests::plain_csv(content).records) << content;
    for (const std::size_t window : {1U, 3U, 64U, 130U}) {
      for (const std::size_t limit : {1U, 64U, 4000U})
        EXPECT_EQ(scan_in_windows(*format, content, window, limit), expected) << content << window << " " << limit;
    }
  }
}

TEST(Csv, AllKernelsFindTheSameEndsUpToWhereOneStops) {
  std::minstd_rand random{3};
  const auto all = record_end_twins();
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, "a,,\"\"\n", random() % 300);
    const auto bytes = std::as_bytes(std::span{text});
    std::vector<std::uint32_t> expected(301);
    expected.resize(all.front()(bytes, {}, expected).count);
    for (const FindRecordEnds& twin : all) {
      std::vector<std::uint32_t> found(301);
      const FoundEnds ends = twin(bytes, {}, found);
      found.resize(ends.count);
      ASSERT_LE(found.size(), expected.size());
      if (!ends.unusual) {
        EXPECT_EQ(found, expected) << text;
      }
      expected.resize(found.size());
      EXPECT_EQ(found, expected) << text;
      expected.resize(301);
      expected.resize(all.front()(bytes, {}, expected).count);
    }
  }
}

TEST(Csv, AQuoteThatIsNeverClosedIsAnErrorAtItsOwnByte) {  // row 34
  const WindowScan found = scan_csv("1,2\n3,\"" + std::string(10 << 20, 'x') + "\n4,5\n");
  EXPECT_EQ(found.records, (Texts{"1,2"}));
  EXPECT_THAT(found.error, HasSubstr("byte 6: the file ends in a quoted field that begins here"));
  const WindowScan limited = scan_csv("1,2\n3,\"" + std::string(200, 'x') + "\n4,5\n", R"(, "max_field_bytes": 100)");
  EXPECT_THAT(limited.error, HasSubstr("byte 6: a quoted field that begins here has more than max_field_bytes, 100"));
  const WindowScan record = scan_csv(std::string(200, 'x'), R"(, "max_record_bytes": 100)");
  EXPECT_THAT(record.error, HasSubstr("byte 0: a record has more than max_record_bytes, 100"));
}

TEST(Csv, AByteOrderMarkIsLeftOutAndUtf16IsNamed) {  // row 35
  EXPECT_EQ(scan_csv("\xef\xbb\xbf\"x\ny\"\n").records, (Texts{"\"x\ny\""}));
  EXPECT_EQ(scan_csv("\xef\xbb\xbf").records, Texts{});
  for (const std::string_view text : {std::string_view{"\xff\xfe"
                                                       "1\0\n\0",
                                                       6},
                                      std::string_view{"1\0,\0"
                                                       "2\0",
                                                       6},
                                      std::string_view{"\xfe\xff\0"
                                                       "1",
                                                       4}})
    EXPECT_THAT(scan_csv(std::string{text}).error, HasSubstr("the file is UTF-16"));
}

TEST(Csv, BlankLinesAreRecordsUnlessTheyAreLeftOut) {
  EXPECT_EQ(scan_csv("1\n\n\r\n2\n").records, (Texts{"1", "", "", "2"}));
  EXPECT_EQ(scan_csv("1\n\n\r\n2\n", R"(, "skip_blank_lines": true)").records, (Texts{"1", "2"}));
}

TEST(Csv, EveryFileMustHaveTheHeaderOfTheFirst) {
  const std::string path = ::testing::TempDir() + "/header.csv";
  std::ofstream{path} << "\xef\xbb\xbf# note\n\"x\ny\",z\n1,2\n";
  const auto bound = csv().bind(
      *parse_json(R"({"files": [")" + path + R"("], "header": true, "skip_header_lines": 1})"), BindContext{});
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  EXPECT_EQ(bound->decides.decoder, "csv");
  EXPECT_EQ(bound->decides.options.find("names")->text(), R"(["x\ny","z"])");
  const auto in = [&](const std::string& text) { return scan_in_windows(*bound->format, text, 3, 1); };
  EXPECT_EQ(in("\n\"x\ny\",z\n1,2\n").records, (Texts{"1,2"}));
  EXPECT_EQ(in("").error, "");
  EXPECT_THAT(in("\n\"x\ny\",Z\n1,2\n").error, HasSubstr("byte 1: field 1 of the header row is 'Z'"));
  EXPECT_THAT(in("\n\"x\ny\"\n1,2\n").error, HasSubstr("the header row has 1 fields"));
  std::shared_ptr<void> kept;
  const std::string other = "\nX,z\n1,2\n";
  const auto next = bound->format->resync(std::as_bytes(std::span{other}), 0, 1, true, kept);
  EXPECT_FALSE(next.found) << "nothing is read of a file with other columns";
  EXPECT_EQ(next.at, other.size());
}

TEST(Csv, OptionsThatContradictEachOtherAreRefused) {
  const auto fault = [](const std::string& more) {
    const auto bound = csv().bind(*parse_json(R"({"files": ["a"])" + more + "}"), BindContext{});
    return bound.ok() ? std::string{} : bound.error().text();
  };
  EXPECT_THAT(fault(R"(, "field_delim": "::")"), HasSubstr("has 1 character, found 2"));
  EXPECT_THAT(fault(R"(, "field_delim": "\"")"), HasSubstr("no quote unless"));
  EXPECT_THAT(fault(R"(, "header": true, "names": ["x"])"), HasSubstr("the header row names the fields"));
  EXPECT_THAT(fault(R"(, "names": ["x"], "select_cols": [0])"), HasSubstr("by their names"));
}

}  // namespace
}  // namespace forebay::sources
