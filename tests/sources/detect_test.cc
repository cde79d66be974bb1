// SPDX-License-Identifier: Apache-2.0
#include "sources/detect.h"

#include <gtest/gtest.h>

#include "sources/framing.h"
#include "tests/io/compressed.h"
#include "tests/sources/frames.h"

namespace forebay::sources {
namespace {

using tests::bytes_of;

/// A format that leaves `detect` as it is.
class LinesFormat final : public Format {
 public:
  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t, bool, std::size_t,
                       std::vector<Extent>&) const override {
    return Scanned{.consumed = bytes.size()};
  }
  Result<void> verify(std::span<const Record>) const override { return {}; }
};

TEST(Detect, TextThatBeginsLikeAZlibHeaderIsPlainForAFormatThatDoesNotAskForZlib) {
  for (const std::string text : {"80,1", "H,e", "(4)", "hb", "x y"}) {
    EXPECT_EQ(LinesFormat{}.detect(bytes_of(text)), Compression::none) << text;
    EXPECT_EQ(tfrecord_format()->detect(bytes_of(text)), Compression::zlib) << text << ": no TFRecord header";
  }
  EXPECT_EQ(LinesFormat{}.detect({}), Compression::none);
}

TEST(Detect, EveryFormatKnowsGzipAndZstd) {
  for (const std::string_view head : {"\x28\xb5\x2f\xfd", "\x5a\x2a\x4d\x18"}) {  // a frame, and a skippable one
    EXPECT_EQ(LinesFormat{}.detect(bytes_of(head)), Compression::zstd);
    EXPECT_EQ(tfrecord_format()->detect(bytes_of(head)), Compression::zstd);
  }
  const std::string compressed = tests::compress("80,1", tests::gzip_window);
  EXPECT_EQ(LinesFormat{}.detect(bytes_of(compressed)), Compression::gzip);
  EXPECT_EQ(tfrecord_format()->detect(bytes_of(compressed)), Compression::gzip);
}

TEST(Detect, EveryFormatKnowsBzip2AndXz) {
  for (const std::string text : {"", "80,1"}) {
    EXPECT_EQ(LinesFormat{}.detect(bytes_of(tests::compress_bzip2(text))), Compression::bzip2);
    EXPECT_EQ(tfrecord_format()->detect(bytes_of(tests::compress_xz(text))), Compression::xz);
  }
  EXPECT_EQ(LinesFormat{}.detect(bytes_of("BZh9 is the name of a turbine")), Compression::none);
}

TEST(Detect, TfRecordTellsItsHeaderFromZlib) {
  const std::string compressed = tests::compress(tests::framed("one"), tests::zlib_window);
  EXPECT_EQ(tfrecord_format()->detect(bytes_of(compressed)), Compression::zlib);
  EXPECT_EQ(tfrecord_format()->detect(bytes_of(tests::header(0x9c78))), Compression::none) << "begins with 78 9c";
}

TEST(Detect, NamesFilesOfOtherKinds) {
  EXPECT_EQ(file_kind(bytes_of(std::string_view{"\x04\x22\x4d\x18"})),
            "lz4 data, which is not read: decompress it, or compress it as gzip");
  EXPECT_EQ(file_kind(bytes_of("PAR1\x15\x04")), "a Parquet file, which is not read here");
  EXPECT_EQ(file_kind(bytes_of("PAR1 is a word")), "");
  EXPECT_EQ(file_kind(bytes_of("x y")), "");
}

}  // namespace
}  // namespace forebay::sources
