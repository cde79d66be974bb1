// SPDX-License-Identifier: Apache-2.0
// Tests of zstd files through the interface of Inflater and Deflater.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deflate.h"
#include "io/inflate.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/io/inflated.h"
#include "tests/support/noise.h"

namespace forebay::io {
namespace {

using testing::HasSubstr;
using tests::compress_zstd;
using tests::noise;
using tests::some_text;

std::string skippable(std::size_t size) {
  std::string out{"\x53\x2a\x4d\x18", 4};
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(size >> shift);
  return out + std::string(size, 's');
}

class Zstd : public testing::Test {
 protected:
  File file_of(const std::string& bytes) { return *File::open(folder_.write("compressed", bytes)); }
  Inflated inflated(const std::string& bytes, std::size_t piece = 1 << 20) {
    const File file = file_of(bytes);
    Inflater inflater = *Inflater::make(Compression::zstd);
    return rest_of(inflater, file, piece);
  }

 private:
  tests::Folder folder_;
};

TEST_F(Zstd, EveryLevelComesBackWhole) {
  const std::string text = some_text(400'000) + noise(200'000);
  for (const int level : {-5, 1, 3, 9, 19})
    EXPECT_EQ(inflated(compress_zstd(text, level)), (Inflated{text, ""})) << level;
}

TEST_F(Zstd, TheSizeOfTheOutputPiecesDoesNotMatter) {
  const std::string text = some_text(300'000);
  for (const std::size_t piece : {1, 7, 4096, 65'537, 300'000, 300'001})
    EXPECT_EQ(inflated(compress_zstd(text), piece), (Inflated{text, ""})) << piece;
}

TEST_F(Zstd, FramesAreReadAsOneAndSkippableOnesHaveNoContent) {
  EXPECT_EQ(inflated(""), (Inflated{}));
  EXPECT_EQ(
      inflated(skippable(0) + compress_zstd("one, ") + compress_zstd("") + skippable(700'000) + compress_zstd("two")),
      (Inflated{"one, two", ""}));
}

TEST_F(Zstd, ALongSkippableFrameIsPassedInPauses) {
  const File file = file_of(skippable(40 << 20) + compress_zstd("end"));
  Inflater inflater = *Inflater::make(Compression::zstd);
  std::vector<std::byte> out(10);
  int pauses = 0;
  auto got = inflater.read(file, out);
  for (; got.ok() && *got == 0 && !inflater.ended(); got = inflater.read(file, out)) ++pauses;
  EXPECT_EQ(*got, 3U);
  EXPECT_GE(pauses, 2);
}

TEST_F(Zstd, EveryCutIsAFaultAndWhatCameBeforeIsRight) {
  const std::string text = some_text(3000);
  const std::string bytes = compress_zstd(text) + compress_zstd(text);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Inflated out = inflated(bytes.substr(0, size));
    EXPECT_EQ(out.bytes, (text + text).substr(0, out.bytes.size()));
    EXPECT_EQ(out.fault.empty(), size == bytes.size() / 2) << size;
  }
  EXPECT_THAT(inflated(bytes.substr(0, 100)).fault,
              HasSubstr("truncated zstd data: the file ends inside it (compressed byte 100 of 100)"));
}

TEST_F(Zstd, NoFlippedBitGivesOtherBytesWithoutAFault) {
  const std::string text = some_text(600);
  const std::string bytes = compress_zstd(text);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    const File file = file_of(broken);
    Inflater inflater = *Inflater::make(Compression::zstd);
    std::string out(1 << 20, '\0');
    const auto got = inflater.read(file, std::as_writable_bytes(std::span{out}));
    const bool fault = !got.ok() || !inflater.read(file, std::as_writable_bytes(std::span{out})).ok();
    EXPECT_TRUE(fault || out.substr(0, *got) == text) << bit;
  }
}

TEST_F(Zstd, AFlippedBitOfTheChecksumIsFound) {
  std::string bytes = compress_zstd("turbine");
  bytes.back() = static_cast<char>(bytes.back() ^ 4);
  EXPECT_THAT(inflated(bytes).fault, HasSubstr("corrupt zstd data: wrong checksum"));
  EXPECT_EQ(inflated(compress_zstd("turbine", 3, 0, false)), (Inflated{"turbine", ""})) << "a frame may have none";
}

TEST_F(Zstd, AFrameWithoutTheSizeThatItsHeaderNamesIsCorrupt) {
  const std::string frame{"\x28\xb5\x2f\xfd\x20\x05\x01\0\0", 9};  // names 5 bytes, and its only block is empty
  const Inflated out = inflated(compress_zstd("sluice") + frame);
  EXPECT_EQ(out.bytes, "sluice");
  EXPECT_THAT(out.fault, HasSubstr("corrupt zstd data: a frame names another size than that of its content"));
  const std::string empty{"\x28\xb5\x2f\xfd\x20\0\x01\0\0", 9};
  EXPECT_EQ(inflated(empty + empty), (Inflated{"", ""}));
}

TEST_F(Zstd, TheContentBeforeACorruptBlockIsGivenOut) {
  const std::string text = noise(600'000);  // blocks of 128 KiB, stored
  std::string bytes = compress_zstd(text);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  const Inflated content = inflated(bytes);
  EXPECT_THAT(content.fault, HasSubstr("wrong checksum"));
  EXPECT_EQ(content.bytes.size(), text.size());
  std::string block = compress_zstd(text);
  block[6 + (3 + 131'072) * 2] |= '\x06';  // the type of the third block: reserved
  const Inflated out = inflated(block);
  EXPECT_THAT(out.fault, HasSubstr("corrupt zstd data: "));
  EXPECT_EQ(out.bytes, text.substr(0, out.bytes.size()));
  EXPECT_GE(out.bytes.size(), 131'072U);
}

TEST_F(Zstd, TrailingBytesAndOtherFormatsAreFaults) {
  const Inflated out = inflated(compress_zstd("all of it") + "junk");
  EXPECT_EQ(out.bytes, "all of it");
  EXPECT_THAT(out.fault, HasSubstr("trailing bytes after the end of the zstd data"));
  EXPECT_THAT(inflated("plain text").fault, HasSubstr("which may be uncompressed data (compressed byte 0 of 10)"));
  EXPECT_THAT(inflated(tests::compress("x", tests::gzip_window)).fault, HasSubstr("look like gzip"));
}

TEST_F(Zstd, ZerosMayFollowTheLastFrameWhereTheyAreAllowed) {
  const File file = file_of(compress_zstd("all") + std::string(10'000, '\0'));
  Inflater inflater = *Inflater::make(Compression::zstd, Inflater::Trailing::zeros);
  EXPECT_EQ(rest_of(inflater, file), (Inflated{"all", ""}));
}

TEST_F(Zstd, AFrameWhoseWindowIsTooLargeIsRefusedBeforeMemoryIsTaken) {
  const std::string header{"\x28\xb5\x2f\xfd\x00\x90", 6};  // a window of 2 to the 28th bytes
  const File file = file_of(header + std::string(100, 'x'));
  Inflater inflater = *Inflater::make(Compression::zstd);
  std::vector<std::byte> out(10);
  const auto got = inflater.read(file, out);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().detail(), Detail::resource_exhausted);
  EXPECT_THAT(got.error().message(), HasSubstr("a window of more than 134217728 bytes, which is the limit"));
  EXPECT_THAT(got.error().message(), HasSubstr("--long=27"));
  EXPECT_LT(inflater.bytes(), 2 << 20);
}

TEST_F(Zstd, TheWindowCountsAsMemoryOfTheInflater) {
  const std::string text = some_text(3'000'000);
  const File file = file_of(compress_zstd(text, 3, 24));
  Inflater inflater = *Inflater::make(Compression::zstd);
  std::vector<std::byte> out(10);
  ASSERT_TRUE(inflater.read(file, out).ok());
  EXPECT_GT(inflater.bytes(), 16 << 20);
}

TEST_F(Zstd, ContentAfterTheLimitIsAFault) {
  const File file = file_of(compress_zstd(some_text(300'000)));
  for (const std::int64_t max : {0, 999, 299'999, 300'000}) {
    Inflater inflater = *Inflater::make(Compression::zstd);
    inflater.limit(max);
    std::string out(400'000, '\0');
    const auto got = inflater.read(file, std::as_writable_bytes(std::span{out}));
    const auto again = inflater.read(file, std::as_writable_bytes(std::span{out}));
    EXPECT_EQ(got.ok() ? static_cast<std::int64_t>(*got) : 0, max);
    EXPECT_EQ(again.ok(), max == 300'000);
    if (again.ok()) continue;
    EXPECT_THAT(again.error().message(), HasSubstr("max_decompressed_bytes"));
  }
}

TEST_F(Zstd, RestartPointsAreWhereFramesBegin) {
  std::string text;
  std::string bytes;
  for (std::size_t i = 0; i < 20; ++i) {
    text += some_text(60'000, i);
    bytes += compress_zstd(some_text(60'000, i));
  }
  const File file = file_of(bytes);
  Inflater inflater = *Inflater::make(Compression::zstd);
  inflater.collect(50'000);
  EXPECT_EQ(rest_of(inflater, file), (Inflated{text, ""}));
  const auto points = inflater.take_points();
  EXPECT_EQ(points.size(), 20U);
  for (const RestartPoint& point : points) {
    Inflater resumed = *Inflater::resume(Compression::zstd, point);
    EXPECT_EQ(rest_of(resumed, file), (Inflated{text.substr(static_cast<std::size_t>(point.uncompressed)), ""}));
  }
  EXPECT_FALSE(Inflater::resume(Compression::zstd, {.at = RestartPoint::At::block, .compressed = 9}).ok());
}

TEST_F(Zstd, AFileOfOneFrameHasOnePoint) {
  const File file = file_of(compress_zstd(some_text(600'000)));
  Inflater inflater = *Inflater::make(Compression::zstd);
  inflater.collect(50'000);
  EXPECT_EQ(rest_of(inflater, file).fault, "");
  EXPECT_EQ(inflater.take_points(), std::vector<RestartPoint>{RestartPoint{}});
}

TEST_F(Zstd, TheDeflaterWritesAFrameForEveryTwoMebibytes) {
  const std::string text = some_text(5'000'000);
  Deflater deflater = *Deflater::make(Compression::zstd);
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < text.size(); at += 1000)
    ASSERT_TRUE(deflater.write(tests::bytes_of(std::string_view{text}.substr(at, 1000)), out).ok());
  ASSERT_TRUE(deflater.finish(out).ok());
  const File file = file_of({reinterpret_cast<const char*>(out.data()), out.size()});
  Inflater inflater = *Inflater::make(Compression::zstd);
  inflater.collect(1);
  EXPECT_EQ(rest_of(inflater, file), (Inflated{text, ""}));
  EXPECT_EQ(inflater.take_points().size(), 3U);
}

}  // namespace
}  // namespace forebay::io
