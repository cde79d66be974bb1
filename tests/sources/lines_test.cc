// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/lines.h>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sources/windows.h"

namespace forebay::sources {
SourceType lines();

namespace {

using tests::format_of;
using tests::scan_in_windows;
using tests::WindowScan;

constexpr std::size_t unlimited = std::size_t{1} << 30;

std::vector<std::string> lines_in(const std::string& content, const std::string& more = "") {
  const auto format = format_of(lines(), R"({"files": ["a"])" + more + "}");
  return scan_in_windows(*format, content, unlimited, unlimited).records;
}

using Texts = std::vector<std::string>;

TEST(Lines, ALineFeedAndOneCarriageReturnBeforeItEndALine) {
  EXPECT_EQ(lines_in("a\r\nb\nc\r\r\n"), (Texts{"a", "b", "c\r"}));
  EXPECT_EQ(lines_in("a\rb\n"), (Texts{"a\rb"}));
}

TEST(Lines, TheEndOfTheFileEndsALineThatIsNotEmpty) {
  EXPECT_EQ(lines_in("a\n\nb"), (Texts{"a", "", "b"}));
  EXPECT_EQ(lines_in("a\n\n"), (Texts{"a", ""}));
  EXPECT_EQ(lines_in("a\nb\r"), (Texts{"a", "b"}));
  EXPECT_EQ(lines_in("a\n\r"), (Texts{"a"}));
  EXPECT_EQ(lines_in(""), Texts{});
}

TEST(Lines, AByteOrderMarkStays) { EXPECT_EQ(lines_in("\xef\xbb\xbfx\n"), (Texts{"\xef\xbb\xbfx"})); }

TEST(Lines, HeaderLinesAreNoRecordsAndAHeaderMayBeLongerThanTheFile) {
  EXPECT_EQ(lines_in("h\n1\n2", R"(, "skip_header_lines": 1)"), (Texts{"1", "2"}));
  EXPECT_EQ(lines_in("h\n1\n2", R"(, "skip_header_lines": 3)"), Texts{});
}

TEST(Lines, AnyWindowsAndLimitsFindTheSameLines) {
  std::minstd_rand random{7};
  for (int round = 0; round < 60; ++round) {
    std::string content;
    for (std::size_t i = random() % 400; i > 0; --i) content += "ab\r\n\n,"[random() % 6];
    const std::string options =
        R"({"files": ["a"], "max_line_bytes": 20, "skip_header_lines": )" + std::to_string(round % 4) + "}";
    const auto format = format_of(lines(), options);
    const WindowScan expected = scan_in_windows(*format, content, unlimited, unlimited);
    for (const std::size_t window : {1U, 2U, 3U, 17U, 64U, 130U}) {
      for (const std::size_t limit : {1U, 5U, 64U, 4000U})
        EXPECT_EQ(scan_in_windows(*format, content, window, limit), expected) << content << window << " " << limit;
    }
  }
}

TEST(Lines, OfMoreThanTheMaximumAreErrorsThatNameTheirByteAndTakeNoMemory) {
  const auto format = format_of(lines(), R"({"files": ["a"], "max_line_bytes": 5})");
  for (const char* const longer : {"123456\n", "123456", "123456\r\n", "123456\r", "12345\r\r\n", "12345678901\n"}) {
    const std::string content = std::string{"12345\r\nab\n12345\r\n"} + longer;
    for (const std::size_t window : {1U, 8U, 100U}) {
      const WindowScan found = scan_in_windows(*format, content, window, unlimited);
      EXPECT_EQ(found.records, (Texts{"12345", "ab", "12345"})) << content;
      EXPECT_THAT(found.error, ::testing::HasSubstr("byte 17: a line has more than max_line_bytes, 5")) << content;
    }
  }
  std::vector<Extent> none;
  const std::string endless(8, 'x');  // the file goes on
  EXPECT_FALSE(format->scan(std::as_bytes(std::span{endless}), 0, false, unlimited, none).ok());
}

TEST(Lines, TextIsNeverTakenForZlib) {
  const auto format = format_of(lines(), R"({"files": ["a"]})");
  const auto detected = [&](std::string_view head) { return format->detect(std::as_bytes(std::span{head})); };
  for (int first = 0x08; first <= 0x78; first += 0x10) {
    for (int second = 0; second < 256; ++second)
      EXPECT_EQ(detected({std::string{static_cast<char>(first), static_cast<char>(second)}}), Compression::none);
  }
  EXPECT_EQ(detected("\x1f\x8b\x08"), Compression::gzip);
  EXPECT_EQ(detected("\x28\xb5\x2f\xfd"), Compression::zstd);
}

TEST(Lines, TheNextLineIsFoundAfterOneThatIsTooLongWhereverTheWindowEnds) {
  const auto format = format_of(lines(), R"({"files": ["a"]})");
  std::shared_ptr<void> none;
  const std::string text = "xxx\ny";
  const auto find = [&](std::size_t size, std::size_t from, bool last) {
    const Resync found = format->resync(std::as_bytes(std::span{text}).first(size), 0, from, last, none);
    return std::tuple{found.at, found.found, found.wanted};
  };
  EXPECT_EQ(find(5, 1, true), (std::tuple{4U, true, 0U}));
  EXPECT_EQ(find(4, 1, false), (std::tuple{3U, false, 5U})) << "the line feed stays for the next window";
  EXPECT_EQ(find(4, 1, true), (std::tuple{4U, false, 0U}));
  EXPECT_EQ(find(3, 1, false), (std::tuple{3U, false, 5U}));
}

}  // namespace
}  // namespace forebay::sources
