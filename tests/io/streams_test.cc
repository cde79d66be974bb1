// SPDX-License-Identifier: Apache-2.0
// Tests of bzip2 and xz files through the interface of Inflater and Deflater; zstd has its own (zstd_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deflate.h"
#include "io/inflate.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/io/inflated.h"
#include "tests/support/how_much.h"
#include "tests/support/noise.h"

namespace forebay::io {
namespace {

using testing::HasSubstr;
using tests::noise;
using tests::some_text;

class Streams : public testing::TestWithParam<Compression> {
 protected:
  [[nodiscard]] static bool xz() { return GetParam() == Compression::xz; }
  static std::string compress(const std::string& text) {
    return xz() ? tests::compress_xz(text, 1) : tests::compress_bzip2(text, 3);
  }
  File file_of(const std::string& bytes) { return *File::open(folder_.write("compressed", bytes)); }
  Inflated inflated(const std::string& bytes, std::size_t piece = 1 << 20,
                    Inflater::Trailing trailing = Inflater::Trailing::nothing) {
    const File file = file_of(bytes);
    Inflater inflater = *Inflater::make(GetParam(), trailing);
    return rest_of(inflater, file, piece);
  }

 private:
  tests::Folder folder_;
};

TEST_P(Streams, EveryLevelComesBackWhole) {
  const std::string text = some_text(200'000) + noise(100'000);
  for (const int level : {1, 6}) {
    const std::string bytes =
        xz() ? tests::compress_xz(text, static_cast<std::uint32_t>(level)) : tests::compress_bzip2(text, level);
    EXPECT_EQ(inflated(bytes), (Inflated{text, ""})) << level;
  }
}

TEST_P(Streams, TheSizeOfTheOutputPiecesDoesNotMatter) {
  const std::string text = some_text(30'000);
  for (const std::size_t piece : {1, 7, 4096, 30'000, 30'001})
    EXPECT_EQ(inflated(compress(text), piece), (Inflated{text, ""})) << piece;
}

TEST_P(Streams, StreamsAreReadAsOne) {
  EXPECT_EQ(inflated(""), (Inflated{}));
  EXPECT_EQ(inflated(compress("one, ") + compress("") + compress("two")), (Inflated{"one, two", ""}));
}

TEST_P(Streams, EveryCutIsAFaultAndWhatCameBeforeIsRight) {
  const std::string text = some_text(100);
  const std::string bytes = compress(text) + compress(text);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Inflated out = inflated(bytes.substr(0, size), 4096);
    EXPECT_EQ(out.bytes, (text + text).substr(0, out.bytes.size()));
    EXPECT_EQ(out.fault.empty(), size == bytes.size() / 2) << size;
  }
}

TEST_P(Streams, NoFlippedBitGivesOtherBytesWithoutAFault) {
  const std::string text = some_text(60);
  const std::string bytes = compress(text);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    const Inflated out = inflated(broken, 4096);
    EXPECT_TRUE(!out.fault.empty() || out.bytes == text) << bit;
  }
}

TEST_P(Streams, TrailingBytesAndOtherFormatsAreFaults) {
  const Inflated out = inflated(compress("all of it") + "junk");
  EXPECT_EQ(out.bytes, "all of it");
  EXPECT_THAT(out.fault, HasSubstr(xz() ? "trailing bytes after the end of the xz data"
                                        : "trailing bytes after the end of the bzip2 data"));
  EXPECT_THAT(inflated("plain text").fault, HasSubstr("which may be uncompressed data (compressed byte 0 of 10)"));
  EXPECT_THAT(inflated(xz() ? tests::compress_bzip2("x") : tests::compress_xz("x")).fault,
              HasSubstr(xz() ? "look like bzip2" : "look like xz"));
}

TEST_P(Streams, ZerosBetweenXzStreamsArePaddingByFours) {
  for (const std::size_t zeros : {1, 3, 4, 8, 10'000, 10'001}) {
    const bool padding = xz() && zeros % 4 == 0;
    EXPECT_EQ(inflated(compress("one") + std::string(zeros, '\0')).fault.empty(), padding) << zeros;
    EXPECT_EQ(inflated(compress("one") + std::string(zeros, '\0') + compress("two")).bytes, padding ? "onetwo" : "one");
    EXPECT_EQ(inflated(compress("one") + std::string(zeros, '\0'), 100, Inflater::Trailing::zeros),
              (Inflated{"one", ""}));
  }
  EXPECT_THAT(inflated(std::string(4, '\0')).fault, HasSubstr("may be uncompressed data"));
}

TEST_P(Streams, ContentAfterTheLimitIsAFault) {
  const File file = file_of(compress(some_text(30'000)));
  for (const std::int64_t max : {0, 999, 29'999, 30'000}) {
    Inflater inflater = *Inflater::make(GetParam());
    inflater.limit(max);
    std::string out;
    std::string piece(70'000, '\0');
    const auto read = [&] { return inflater.read(file, std::as_writable_bytes(std::span{piece})); };
    auto got = read();
    for (; got.ok() && *got > 0; got = read()) out.append(piece, 0, *got);
    EXPECT_EQ(std::ssize(out), max);
    EXPECT_EQ(got.ok(), max == 30'000);
    if (!got.ok()) {
      EXPECT_EQ(got.error().detail(), Detail::resource_exhausted);
    }
  }
}

TEST_P(Streams, TheMemoryOfTheDecoderCounts) {
  const File file = file_of(compress(some_text(400'000)));
  Inflater inflater = *Inflater::make(GetParam());
  std::vector<std::byte> out(10);
  ASSERT_TRUE(inflater.read(file, out).ok());
  EXPECT_GT(inflater.bytes(), 1 << 20);
}

TEST_P(Streams, DecompressionBeginsAtEveryStream) {
  std::string text;
  std::string bytes;
  for (std::size_t i = 0; i < 4; ++i) {
    text += some_text(6'000, i);
    bytes += compress(some_text(6'000, i));
  }
  const File file = file_of(bytes);
  Inflater inflater = *Inflater::make(GetParam());
  inflater.collect(5'000);
  EXPECT_EQ(rest_of(inflater, file), (Inflated{text, ""}));
  const auto points = inflater.take_points();
  ASSERT_EQ(points.size(), 4U);
  for (const RestartPoint& point : points) {
    EXPECT_EQ(point.at, RestartPoint::At::stream);
    Inflater later = *Inflater::resume(GetParam(), point);
    EXPECT_EQ(rest_of(later, file), (Inflated{text.substr(static_cast<std::size_t>(point.uncompressed)), ""}));
  }
}

TEST_P(Streams, WhatIsWrittenHasAStreamForEveryTwoMebibytes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{2} << 20, (std::size_t{2} << 20) + 1}) {
    const std::string text(size, 's');
    std::vector<std::byte> out;
    Deflater deflater = *Deflater::make(GetParam());
    ASSERT_TRUE(deflater.write(std::as_bytes(std::span{text}), out).ok());
    ASSERT_TRUE(deflater.finish(out).ok());
    const File file = file_of({reinterpret_cast<const char*>(out.data()), out.size()});
    Inflater inflater = *Inflater::make(GetParam());
    inflater.collect(1);
    EXPECT_EQ(rest_of(inflater, file), (Inflated{text, ""}));
    EXPECT_EQ(inflater.take_points().size(), size > std::size_t{2} << 20 ? 2U : 1U) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Streams, testing::Values(Compression::bzip2, Compression::xz),
                         [](const auto& each) { return each.param == Compression::xz ? "Xz" : "Bzip2"; });

TEST(Bzip2, NoByteOfABlockWhoseChecksumIsWrongIsGiven) {
  const std::string text = some_text(500'000);  // seven blocks
  const std::string bytes = tests::compress_bzip2(text, 1);
  const tests::Folder folder;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += tests::how_much<std::size_t>(1009, 6007, 24007)) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    const File file = *File::open(folder.write("broken", broken));
    for (const std::size_t piece : {1000, 1 << 20}) {
      Inflater inflater = *Inflater::make(Compression::bzip2);
      const Inflated out = rest_of(inflater, file, piece);
      EXPECT_FALSE(out.fault.empty()) << bit;
      EXPECT_TRUE(text.starts_with(out.bytes)) << bit;
    }
  }
}

TEST(Xz, EveryKindOfChecksumIsRead) {
  const tests::Folder folder;
  for (const lzma_check check : {LZMA_CHECK_NONE, LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256}) {
    const File file = *File::open(folder.write("x", tests::compress_xz("turbine", 6, check)));
    Inflater inflater = *Inflater::make(Compression::xz);
    EXPECT_EQ(rest_of(inflater, file), (Inflated{"turbine", ""})) << check;
  }
}

TEST(Xz, ADictionaryThatIsTooLargeIsRefusedBeforeMemoryIsTaken) {
  // The header of the stream, and a block's: its size, flags, LZMA2 with one property, a dictionary of 512 MiB, padding
  // and a CRC-32.
  std::string block{"\x02\0\x21\x01\x22\0\0\0", 8};
  const std::uint32_t sum = lzma_crc32(reinterpret_cast<const std::uint8_t*>(block.data()), block.size(), 0);
  for (int shift = 0; shift < 32; shift += 8) block += static_cast<char>(sum >> shift);
  const std::string bytes = tests::compress_xz("sluice").substr(0, 12) + block + std::string(100, 'x');
  const tests::Folder folder;
  const File file = *File::open(folder.write("x", bytes));
  Inflater inflater = *Inflater::make(Compression::xz);
  std::vector<std::byte> out(10);
  const auto got = inflater.read(file, out);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().detail(), Detail::resource_exhausted);
  EXPECT_THAT(got.error().message(), HasSubstr("of memory, which is the limit"));
  EXPECT_LT(inflater.bytes(), 2 << 20);
}

}  // namespace
}  // namespace forebay::io
