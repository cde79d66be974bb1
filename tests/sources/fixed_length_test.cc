// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/fixed_length.h>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sources/windows.h"

namespace forebay::sources {
SourceType fixed_length();

namespace {

using tests::format_of;
using tests::scan_in_windows;

struct Layout {
  std::size_t record, header, footer, hop;
};

std::string options_of(const Layout& at, const std::string& more = "") {
  return R"({"files": ["a"], "record_bytes": )" + std::to_string(at.record) + R"(, "header_bytes": )" +
         std::to_string(at.header) + R"(, "footer_bytes": )" + std::to_string(at.footer) + R"(, "hop_bytes": )" +
         std::to_string(at.hop) + more + "}";
}

std::vector<std::string> plainly(const std::string& content, const Layout& at) {
  std::vector<std::string> out;
  for (std::size_t i = at.header; i + at.record + at.footer <= content.size(); i += at.hop == 0 ? at.record : at.hop)
    out.push_back(content.substr(i, at.record));
  return out;
}

TEST(FixedLength, AnyWindowsAndLimitsFindTheRecordsOfAnyLayout) {
  std::minstd_rand random{3};
  for (int round = 0; round < 300; ++round) {
    const Layout at{1 + random() % 9, random() % 12, random() % 6, random() % 20};
    std::string content(at.header + random() % 90, '\0');
    for (char& byte : content) byte = static_cast<char>(random());
    const auto format = format_of(fixed_length(), options_of(at));
    for (const std::size_t window : {1U, 7U, 30U, 1000U}) {
      for (const std::size_t limit : {1U, 11U, 1000U}) {
        const auto found = scan_in_windows(*format, content, window, limit);
        EXPECT_EQ(found.error, "");
        EXPECT_EQ(found.records, plainly(content, at)) << options_of(at) << content.size() << " " << window;
      }
    }
  }
}

TEST(FixedLength, AFileThatEndsInsideItsHeaderIsAnErrorAtItsEnd) {
  const auto format = format_of(fixed_length(), options_of({3, 5, 0, 0}));
  for (std::size_t size = 0; size < 8; ++size) {
    const std::string error = scan_in_windows(*format, std::string(size, 'x'), 2, 100).error;
    const std::string expected =
        size < 5 ? "byte " + std::to_string(size) + ": the file ends after " + std::to_string(size) : "";
    EXPECT_THAT(error, ::testing::StartsWith(expected));
    EXPECT_EQ(error.empty(), expected.empty());
  }
}

TEST(FixedLength, AStrictTailAllowsNoBytesBesideRecordsGapsAndFooter) {
  const auto sizes = [](const Layout& at) {
    std::string out;
    const auto format = format_of(fixed_length(), options_of(at, R"(, "strict_tail": true)"));
    for (std::size_t size = at.header; size < 24; ++size) {
      const bool good = scan_in_windows(*format, std::string(size, 'x'), 5, 100).error.empty();
      EXPECT_EQ(scan_in_windows(*format, std::string(size, 'x'), 100, 100).error.empty(), good) << size;
      if (good) out += std::to_string(size) + " ";
    }
    return out;
  };
  EXPECT_EQ(sizes({6, 0, 0, 0}), "0 6 12 18 ");
  EXPECT_EQ(sizes({6, 1, 2, 0}), "1 2 3 9 15 21 ");
  EXPECT_EQ(sizes({6, 0, 0, 4}), "0 6 10 14 18 22 ");
  EXPECT_EQ(sizes({3, 0, 0, 8}), "0 3 4 5 6 7 8 11 12 13 14 15 16 19 20 21 22 23 ");
}

TEST(FixedLength, TwoBytesOfGzipAtTheBeginningOfBinaryRecordsAreNoGzip) {
  const auto format = format_of(fixed_length(), options_of({4, 0, 0, 0}));
  std::string head("\x1f\x8b\x08\x00", 4);
  head.resize(20);
  EXPECT_EQ(format->detect(std::as_bytes(std::span{head})), Compression::gzip);
  head[3] = '\x80';
  EXPECT_EQ(format->detect(std::as_bytes(std::span{head})), Compression::none);
}

}  // namespace
}  // namespace forebay::sources
