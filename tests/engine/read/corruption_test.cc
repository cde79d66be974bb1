// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/read/corrupt_files.h"
#include "tests/io/compressed.h"
#include "tests/support/how_much.h"

namespace forebay::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::framed;
using Pieces = std::vector<Stretch>;
using What = Stretch::What;

// The first length is one whose header is a flipped bit away from looking like zlib.
const std::vector<std::string> intact = {tests::some_text(120), "", tests::some_text(90, 2), tests::some_text(33, 3)};

std::vector<std::string> without(std::size_t index) {
  std::vector<std::string> out = intact;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(index));
  return out;
}

/// Of the frame that the byte lies in, and of its end.
struct Frame {
  std::size_t index = 0, begin = 0, end = 0;
};
Frame frame_at(std::size_t byte) {
  Frame frame;
  for (; frame.index < intact.size(); ++frame.index) {
    frame.end = frame.begin + intact[frame.index].size() + 16;
    if (byte < frame.end) return frame;
    frame.begin = frame.end;
  }
  return frame;
}

Found find_in(const std::string& bytes, const Finding& how = {}) {
  static const tests::Folder folder;
  std::filesystem::remove(folder / "data");  // writing over it would wait for the disk
  return find(folder.write("data", bytes), how);
}

std::string flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

TEST(FindCorruption, AnIntactFileIsRecordsFromEndToEnd) {
  const std::string bytes = framed(intact);
  for (const std::string& file : {bytes, tests::compress(bytes, tests::gzip_window), tests::compress(bytes, 15)}) {
    const Found found = find_in(file);
    EXPECT_EQ(found.good(), intact);
    EXPECT_EQ(found.skipped(), Pieces{});
    EXPECT_EQ(found.end(), static_cast<std::int64_t>(bytes.size()));
  }
  EXPECT_EQ(find_in("").pieces, Pieces{});
}

TEST(FindCorruption, AFlippedBitOfAPlainFileCorruptsItsFrameAndNoOther) {
  const std::string bytes = framed(intact);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const Found found = find_in(flipped(bytes, bit));
    const Frame frame = frame_at(bit / 8);
    ASSERT_EQ(found.good(), without(frame.index)) << bit;
    const What what = bit / 8 < frame.begin + 12 ? What::range : What::bad;
    ASSERT_EQ(
        found.skipped(),
        (Pieces{{what, static_cast<std::int64_t>(frame.begin), static_cast<std::int64_t>(frame.end - frame.begin)}}))
        << bit;
    ASSERT_EQ(found.end(), static_cast<std::int64_t>(bytes.size()));
  }
}

TEST(FindCorruption, ACutPlainFileIsItsWholeRecordsAndOneRange) {
  const std::string bytes = framed(intact);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Found found = find_in(bytes.substr(0, size));
    const Frame frame = frame_at(size);
    ASSERT_EQ(found.good(), (std::vector<std::string>{intact.begin(), intact.begin() + static_cast<int>(frame.index)}));
    ASSERT_EQ(found.skipped().size(), size == frame.begin ? 0U : 1U);
    ASSERT_EQ(found.end(), static_cast<std::int64_t>(size));
  }
}

TEST(FindCorruption, AnAddedByteOfAPlainFileCostsOneRecordOrNone) {
  const std::string bytes = framed(intact);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    for (const char added : {'x', '\0'}) {
      std::string longer = bytes;
      longer.insert(at, 1, added);
      const Found found = find_in(longer);
      const Frame frame = frame_at(at);
      if (at == frame.begin) {
        ASSERT_EQ(found.good(), intact) << at;
      } else if (found.good() != intact) {  // a byte beside its equal may belong to the next frame or the one before
        ASSERT_EQ(found.good(), without(frame.index)) << at;
      }
      ASSERT_NE(found.skipped(), Pieces{});
      ASSERT_EQ(found.end(), static_cast<std::int64_t>(longer.size()));
    }
  }
}

TEST(FindCorruption, AMissingByteOfAPlainFileCostsItsRecordAndNoOther) {
  const std::string bytes = framed(intact);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string shorter = bytes;
    shorter.erase(at, 1);
    const Found found = find_in(shorter);
    ASSERT_EQ(found.good(), without(frame_at(at).index)) << at;
    ASSERT_NE(found.skipped(), Pieces{});
    ASSERT_EQ(found.end(), static_cast<std::int64_t>(shorter.size()));
  }
}

/// Compressed data breaks off at a fault, so what can be said is: records of the file, and something skipped. A fault
/// may make the decompressor repeat what it had before, so a record, even, may come twice.
void expect_some_records(const std::string& file, const std::string& what) {
  const Found found = find_in(file);
  EXPECT_EQ(found.error, "");
  EXPECT_GE(found.end(), 0);
  const auto good = found.good();
  for (const std::string& record : good) {
    ASSERT_NE(std::find(intact.begin(), intact.end(), record), intact.end()) << what << ": a record that never was";
  }
  if (found.skipped().empty()) {
    ASSERT_EQ(good, intact) << what;
  }
}

class FindCorruptionInCompressed : public ::testing::TestWithParam<int> {};

TEST_P(FindCorruptionInCompressed, NoFlippedMissingOrAddedByteGivesAWrongRecord) {
  const std::string file = tests::compress(framed(intact), GetParam());
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit)
    expect_some_records(flipped(file, bit), "bit " + std::to_string(bit));
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string other = file;
    expect_some_records(other.erase(at, 1), "missing " + std::to_string(at));
    expect_some_records(other.insert(at, 2, 'x'), "added " + std::to_string(at));
  }
}

TEST_P(FindCorruptionInCompressed, ACutFileEndsInARangeThatSaysSo) {
  const std::string file = tests::compress(framed(intact), GetParam());
  for (std::size_t size = 1; size < file.size(); ++size) {
    expect_some_records(file.substr(0, size), "size " + std::to_string(size));
    ASSERT_NE(find_in(file.substr(0, size)).skipped(), Pieces{}) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, FindCorruptionInCompressed,
                         ::testing::Values(tests::gzip_window, tests::zlib_window));

TEST(FindCorruption, AWrongTrailerIsCorruptionBehindTheLastRecord) {
  const std::string bytes = framed(intact);
  std::string file = tests::compress(bytes, tests::gzip_window);
  file[file.size() - 6] ^= 1;
  const Found found = find_in(file);
  EXPECT_EQ(found.good(), intact);
  EXPECT_EQ(found.skipped(), (Pieces{{What::range, static_cast<std::int64_t>(bytes.size()), 0}}));
  EXPECT_THAT(found.reasons, ElementsAre(HasSubstr("wrong checksum or size")));
}

TEST(FindCorruption, AFaultOfThePackingIsARangeOfItsOwnBehindALostOne) {
  const std::string second = tests::compress(framed("ghi"), tests::gzip_window);
  std::string first =
      tests::compress(framed({"abc", "def"}), tests::gzip_window, 0);  // stored: the bytes are as they are
  first[first.find("def") - 11] ^= 1;
  const Found found = find_in(first + second);
  EXPECT_EQ(found.pieces, (Pieces{{What::good, 0, 19, "abc"}, {What::range, 19, 19}, {What::range, 38, 0}}));
  EXPECT_THAT(found.reasons, ElementsAre(HasSubstr("record 1, byte 19: corrupted record: length checksum"),
                                         HasSubstr("record 1, byte 38: corrupt gzip data: wrong checksum or size")));
}

// Records of more than a block, so that corruption, search and candidates straddle blocks when the bytes come as a
// stream. Compressed without compression: the corruption is then to the records, not to the compression.
TEST(FindCorruption, AStreamGivesTheSamePiecesAsAMappedFile) {
  const std::vector<std::string> large = {tests::some_text(1'300'000), "small", tests::some_text(900'000, 2),
                                          tests::some_text(40, 3), tests::some_text(700'000, 4)};
  const std::string bytes = framed(large);
  std::vector<std::size_t> places = {0, 5, 8, 12, 700'000, 1'300'011, 1'300'012, 1'300'016, 1'300'024, 1'300'030};
  for (std::size_t place = 1'300'040; place < bytes.size(); place += 331'777) places.push_back(place);
  if (tests::sanitized) places = {0, 12, 700'000, 1'300'012, 1'300'030};
  const auto same = [](const std::string& corrupt, const std::string& what) {
    const Found plain = find_in(corrupt, {.compression = Compression::none});
    const Found stream = find_in(tests::compress(corrupt, tests::gzip_window, 0));
    EXPECT_NE(plain.skipped(), Pieces{}) << what;
    EXPECT_EQ(plain.end(), static_cast<std::int64_t>(corrupt.size())) << what;
    EXPECT_TRUE(plain.pieces == stream.pieces) << what;
    EXPECT_EQ(plain.reasons, stream.reasons) << what;
  };
  for (const std::size_t place : places) {
    const std::string at = " at " + std::to_string(place);
    same(flipped(bytes, 8 * place + place % 8), "bit" + at);
    std::string other = bytes;
    same(other.erase(place, 1), "missing" + at);
    same(other.insert(place, 2, 'x'), "added" + at);
    same(bytes.substr(0, place + 1), "cut" + at);
  }
}

TEST(FindCorruption, ALongSearchComesBackInTheMiddle) {
  // So it can be stopped, and the bytes before that place need not stay in memory.
  const std::string records_and_holes = framed(intact) + std::string(std::size_t{9} << 20, '\0') + framed(intact) +
                                        tests::some_text(std::size_t{5} << 20) + framed(intact);
  const tests::Folder folder;
  const Source source{.files = {folder.write("data", records_and_holes)},
                      .compression = Compression::none,
                      .format = sources::tfrecord_format({})};
  PassCache kept{0};
  FileReader scanner{source, 0, std::make_shared<BufferPool>(std::int64_t{1} << 20), kept, Corruption::find};
  std::size_t found = 0;
  std::int64_t before = 0;
  for (Block block; !block.last; before = scanner.offset()) {
    block.clear();
    scanner.scan(block);
    ASSERT_FALSE(block.error) << block.error->text();
    found += block.records.size();
    EXPECT_LE(scanner.offset() - before, std::int64_t{1} << 20);
  }
  EXPECT_EQ(found, 3 * intact.size());
}

TEST(FindCorruption, AFileInsideAGoodRecordStaysInside) {
  const std::string inner = framed({"a", "b", "c"});
  std::string bytes = framed("first") + framed(inner) + framed("last");
  bytes[3] ^= 1;  // the search begins before the record with the file in it
  const Found found = find_in(bytes);
  EXPECT_EQ(found.good(), (std::vector<std::string>{inner, "last"}));
}

TEST(FindCorruption, AFileInsideARecordWithABadPayloadStaysInside) {
  const std::string inner = framed({"a", "b", "c"});
  const std::string bytes = framed("first") + framed(inner) + framed("last");
  for (std::size_t at = 33; at < 33 + inner.size(); ++at) {
    std::string flip = bytes;
    flip[at] ^= 1;
    EXPECT_EQ(find_in(flip).good(), (std::vector<std::string>{"first", "last"})) << at;
    std::string shorter = bytes;
    shorter.erase(at, 1);
    EXPECT_EQ(find_in(shorter).good(), (std::vector<std::string>{"first", "last"})) << at;
  }
}

TEST(FindCorruption, ALengthThatCannotBeIsSearchedThrough) {
  const std::string bytes = framed("a") + tests::header(std::uint64_t{1} << 40) + framed("b");
  const Found found = find_in(bytes);
  EXPECT_EQ(found.pieces, (Pieces{{What::good, 0, 17, "a"}, {What::range, 17, 12}, {What::good, 29, 17, "b"}}));
  EXPECT_THAT(found.reasons, ElementsAre(HasSubstr("record 1, byte 17: record too large")));
}

TEST(FindCorruption, NeighboursAreCorruptEachForItself) {
  std::string bytes = framed({"abc", "def", "ghi", "jkl"});
  bytes[19 + 13] ^= 1;
  bytes[38 + 2] ^= 1;
  const Found found = find_in(bytes + "tail");
  EXPECT_EQ(found.pieces, (Pieces{{What::good, 0, 19, "abc"},
                                  {What::bad, 19, 19},
                                  {What::range, 38, 19},
                                  {What::good, 57, 19, "jkl"},
                                  {What::range, 76, 4}}));
  EXPECT_THAT(found.reasons, ElementsAre(HasSubstr("record 1, byte 31: corrupted record: payload checksum"),
                                         HasSubstr("record 2, byte 38: corrupted record: length checksum"),
                                         HasSubstr("record 3, byte 76: truncated record")));
}

TEST(FindCorruption, MalformedMessagesAreBadRecords) {
  std::string bytes = framed({"abc", "!no", "ghi", "!no", "xyz"});
  bytes[38 + 13] ^= 1;  // "ghi": the check must not see it
  std::vector<std::string> seen;
  const RecordCheck check{
      .run = [&](std::span<const Record> given, std::vector<Malformed>& bad, std::span<std::int64_t>) {
        for (std::size_t i = 0; i < given.size(); ++i) {
          seen.emplace_back(reinterpret_cast<const char*>(given[i].data()), given[i].size());
          if (seen.back()[0] == '!') bad.push_back({i, Error{Code::data, "no message"}});
        }
      }};
  const Found found = find_in(bytes, {.check = check});
  EXPECT_EQ(seen, (std::vector<std::string>{"abc", "!no", "!no", "xyz"}));
  EXPECT_EQ(found.good(), (std::vector<std::string>{"abc", "xyz"}));
  EXPECT_EQ(found.skipped(), (Pieces{{What::bad, 19, 19}, {What::bad, 38, 19}, {What::bad, 57, 19}}));
  EXPECT_THAT(found.reasons[2], HasSubstr("record 3, byte 57: no message"));
}

TEST(FindCorruption, WhatIsToleratedIsNoCorruption) {
  const std::string bytes = framed(intact);
  const Finding zeros{.framing = {.allow_trailing_zeros = true}};
  for (const std::string& file : {bytes + std::string(5000, '\0'), tests::compress(bytes, 31) + std::string(5000, '\0'),
                                  tests::compress(bytes + std::string(5000, '\0'), 15)}) {
    EXPECT_EQ(find_in(file, zeros).good(), intact);
    EXPECT_EQ(find_in(file, zeros).skipped(), Pieces{});
    EXPECT_EQ(find_in(file).skipped().size(), 1U);
  }
  EXPECT_EQ(find_in(tests::compress(bytes, 31) + std::string(50, '\0') + "x", zeros).skipped().size(), 1U);
  EXPECT_EQ(find_in(bytes + "1234567", {.framing = {.tolerate_partial_header = true}}).skipped(), Pieces{});
}

TEST(FindCorruption, AFileThatIsNotThereIsAnErrorAndNoCorruption) {
  const Found found = find("/nowhere/at/all");
  EXPECT_EQ(found.pieces, Pieces{});
  EXPECT_THAT(found.error, HasSubstr("cannot open"));
}

}  // namespace
}  // namespace forebay::engine
