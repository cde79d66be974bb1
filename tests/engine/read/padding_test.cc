// SPDX-License-Identifier: Apache-2.0
// Tests of zeros after the last record and of other long ranges: a scan reads them in pieces and stops between pieces
// on request.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/index/index_fixture.h"
#include "tests/engine/read/corrupt_files.h"
#include "tests/io/compressed.h"
#include "tests/support/how_much.h"
#include "tests/support/resident.h"

namespace forebay::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Le;
using Records = std::vector<std::string>;

constexpr std::int64_t mebi = std::int64_t{1} << 20;
const sources::Framing zeros_allowed{.allow_trailing_zeros = true};
const Records three{"abc", "", "defg"};

/// A scan to its end, call by call.
struct Calls {
  Records records;
  std::vector<std::int64_t> bytes;  ///< Of the file, by call.
  std::string error;

  [[nodiscard]] std::int64_t max_bytes() const { return *std::max_element(bytes.begin(), bytes.end()); }
};

Calls calls(FileReader& scanner) {
  Calls out;
  Block block;
  for (bool over = false; !over; over = block.last || block.error) {
    block.clear();
    const std::int64_t before = scanner.offset();
    scanner.scan(block);
    out.bytes.push_back(scanner.offset() - before);
    for (const Extent& extent : block.records)
      out.records.emplace_back(reinterpret_cast<const char*>(block.base + extent.offset), extent.length);
    if (block.error) out.error = block.error->text();
  }
  return out;
}

class Padding : public ::testing::Test {
 protected:
  [[nodiscard]] Calls scan(const std::string& bytes, sources::Framing framing = zeros_allowed) {
    return scan_file(folder_.write("data", bytes), framing);
  }
  [[nodiscard]] Calls scan_file(const std::string& path, sources::Framing framing = zeros_allowed) {
    const Source source{{path}, Compression::automatic, sources::tfrecord_format(framing)};
    FileReader scanner{source, 0, pool_, kept_};
    return calls(scanner);
  }

  const tests::Folder folder_;
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 30);
  PassCache kept_{0};
};

TEST_F(Padding, ZerosAtTheEndAreTheEndOnlyWhereTheyAreAllowed) {
  for (const std::size_t size : {1, 11, 12, 15, 16, 63, 4096, 600'000, 20'000'000}) {
    const std::string bytes = tests::framed(three) + std::string(size, '\0');
    for (const std::string& file :
         {bytes, tests::compress(bytes, tests::gzip_window), tests::compress(bytes, 15),
          tests::compress(tests::framed(three), tests::gzip_window) + std::string(size, '\0')}) {
      const Calls found = scan(file);
      EXPECT_EQ(found.records, three) << size;
      EXPECT_EQ(found.error, "") << size;
      EXPECT_THAT(found.max_bytes(), Le(8 * mebi));
      EXPECT_NE(scan(file, {}).error, "") << size;
    }
  }
}

TEST_F(Padding, AFileOfNothingElseHasNoRecords) {
  const Calls found = scan(std::string(100, '\0'));
  EXPECT_EQ(found.records, Records{});
  EXPECT_EQ(found.error, "");
}

TEST_F(Padding, ZerosThatSomethingFollowsAreAFaultWhereTheyBegin) {
  for (const std::size_t size : {1, 11, 12, 63, 4096, 9'000'000}) {
    for (const std::string& behind :
         {std::string{"x"}, tests::framed("abc"), std::string{"x"} + std::string(99, '\0')}) {
      const std::string bytes = tests::framed(three) + std::string(size, '\0') + behind;
      for (const std::string& file : {bytes, tests::compress(bytes, tests::gzip_window)}) {
        const Calls found = scan(file);
        EXPECT_EQ(found.records, three);
        EXPECT_THAT(found.error, HasSubstr("record 3, byte 55: ")) << size;
      }
    }
  }
  const Calls found = scan(tests::compress(tests::framed(three), 31) + std::string(9'000'000, '\0') + "x");
  EXPECT_EQ(found.records, three);
  EXPECT_THAT(found.error, HasSubstr("trailing bytes after the end of the gzip data"));
}

TEST_F(Padding, ZerosBetweenRecordsAreCorruptionHoweverTheyAreCut) {
  const std::string large(256, 'x');  // its header begins with a zero
  for (const std::size_t size : {1, 12, 4096, 3'000'000}) {
    const std::string bytes = tests::framed(three) + std::string(size, '\0') + tests::framed(large);
    for (const std::string& file : {bytes + std::string(5'000'000, '\0'), tests::compress(bytes, tests::gzip_window)}) {
      const Found found = find(folder_.write("data", file), {.framing = zeros_allowed});
      EXPECT_EQ(found.good(), (Records{"abc", "", "defg", large})) << size;
      EXPECT_EQ(found.skipped(), (std::vector<Stretch>{{Stretch::What::range, 55, static_cast<std::int64_t>(size)}}));
      EXPECT_EQ(found.error, "");
    }
  }
}

TEST_F(Padding, ZerosBehindABadRecordAreNoCorruption) {
  std::string bytes = tests::framed(three);
  bytes[bytes.size() - 1] ^= 1;
  const Found found = find(folder_.write("data", bytes + std::string(3'000'000, '\0')), {.framing = zeros_allowed});
  EXPECT_EQ(found.good(), (Records{"abc", ""}));
  EXPECT_EQ(found.skipped(), (std::vector<Stretch>{{Stretch::What::bad, 35, 20}}));
}

TEST_F(Padding, OfACompressedFileIsNoFaultForAnIndexEither) {
  const std::string path = folder_.write("data", tests::compress(tests::framed(three), 31) + std::string(5000, '\0'));
  IndexRequest request = request_for(path);
  EXPECT_FALSE(build_index(request).ok());
  request.format = sources::tfrecord_format(zeros_allowed);
  const auto index = build_index(request);
  ASSERT_TRUE(index.ok()) << index.error().text();
  EXPECT_EQ(layout_of(**index), layout_of(three));
}

TEST_F(Padding, PagesOfItAreNotHeld) {
  const std::string path = folder_.write("data", tests::framed(three));
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(256 * mebi));
  const Source source{{path}, Compression::none, sources::tfrecord_format(zeros_allowed)};
  FileReader scanner{source, 0, pool_, kept_};
  const std::int64_t before = tests::resident_bytes();
  std::vector<Block> blocks;
  do scanner.scan(blocks.emplace_back());
  while (!blocks.back().last && !blocks.back().error);
  EXPECT_GE(blocks.size(), 32U);
  EXPECT_LT(tests::resident_bytes() - before, (tests::sanitized ? 1024 : 32) * mebi);  // a sanitizer notes each read
}

TEST_F(Padding, ACompressedRecordOfManyMebibytesIsInflatedInPieces) {
  std::string large;
  for (const std::string piece = tests::some_text(1'000'000); large.size() < 50'000'000;) large += piece;
  const Records records{"abc", large, "defg"};
  const std::string path = folder_.write("data", tests::compress(tests::framed(records), 31, 1));
  const Calls found = scan_file(path);
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.records, records);
  EXPECT_GE(found.bytes.size(), 4U);
  const Found searched = find(path);
  EXPECT_EQ(searched.good(), records);
  EXPECT_EQ(searched.skipped(), std::vector<Stretch>{});
}

TEST_F(Padding, WhatIsHeldBetweenBlocksOfACompressedFileCounts) {
  const std::string content = tests::framed(Records(40, tests::some_text(300'000)));
  const Source source{{folder_.write("data", tests::compress(content, tests::gzip_window))},
                      Compression::automatic,
                      sources::tfrecord_format({})};
  {
    FileReader scanner{source, 0, pool_, kept_};
    Block block;
    scanner.scan(block);
    ASSERT_EQ(block.records.size(), 1U);  // of the second one there is a part
    const auto carried = static_cast<std::int64_t>(block.buffer_bytes) - block.file_end;
    ASSERT_GT(carried, 0);
    const io::Inflater inflater = *io::Inflater::make(Compression::gzip);
    EXPECT_EQ(pool_->used(), static_cast<std::int64_t>(block.buffer_bytes) + carried + inflater.bytes());
  }
  EXPECT_EQ(pool_->used(), 0);
}

}  // namespace
}  // namespace forebay::engine
