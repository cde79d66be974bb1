// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deflate.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/io/inflated.h"

namespace forebay::io {
namespace {

using testing::HasSubstr;
using tests::compress;
using tests::gzip_window;
using tests::some_text;
using tests::zlib_window;

Inflated inflate(const std::string& compressed, Compression compression, std::size_t piece = 1 << 20) {
  const tests::Folder folder;
  const File file = *File::open(folder.write("compressed", compressed));
  Inflater inflater = *Inflater::make(compression);
  return rest_of(inflater, file, piece);
}

class Both : public testing::TestWithParam<Packing> {
 protected:
  [[nodiscard]] std::string compressed(const std::string& text, int level = 6) const {
    return compress(text, GetParam().window, level);
  }
  [[nodiscard]] Inflated inflated(const std::string& bytes, std::size_t piece = 1 << 20) const {
    return inflate(bytes, GetParam().compression, piece);
  }
};
INSTANTIATE_TEST_SUITE_P(Inflate, Both, testing::ValuesIn(packings),
                         [](const auto& one) { return std::string{one.param.name}; });

TEST_P(Both, EveryLevelComesBackWhole) {
  const std::string text = some_text(400'000);
  for (int level = 0; level <= 9; ++level) EXPECT_EQ(inflated(compressed(text, level)), (Inflated{text, ""})) << level;
}

TEST_P(Both, ContentBehindTheLimitIsAFaultAndUpToItIsNot) {
  const tests::Folder folder;
  const std::string text = some_text(300'000);
  const File file =
      *File::open(folder.write("compressed", compressed(text.substr(0, 200'000)) + compressed(text.substr(200'000))));
  for (const std::size_t piece : {1'000, 200'000, 1'000'000}) {
    for (const std::int64_t most : {0, 1, 999, 1'000, 200'000, 299'999, 300'000, 300'001}) {
      Inflater inflater = *Inflater::make(GetParam().compression);
      inflater.limit(most);
      std::string out, buffer(piece, '\0');
      auto got = inflater.read(file, std::as_writable_bytes(std::span{buffer}));
      for (; got.ok() && *got > 0; got = inflater.read(file, std::as_writable_bytes(std::span{buffer})))
        out.append(buffer, 0, *got);
      EXPECT_EQ(out, text.substr(0, static_cast<std::size_t>(most))) << "not a byte more, and not one less";
      EXPECT_EQ(got.ok(), most >= 300'000) << most;
      if (got.ok()) continue;
      EXPECT_EQ(got.error().detail(), Detail::resource_exhausted);
      EXPECT_EQ(inflater.produced(), most);
      EXPECT_EQ(inflater.read(file, std::as_writable_bytes(std::span{buffer})).error().text(), got.error().text());
    }
  }
}

TEST_P(Both, TheSizeOfTheOutputPiecesDoesNotMatter) {
  const std::string text = some_text(300'000);
  const std::string bytes = compressed(text);
  for (const std::size_t piece : {1, 7, 4096, 65'537, 300'000, 300'001}) {
    EXPECT_EQ(inflated(bytes, piece), (Inflated{text, ""})) << piece;
  }
}

TEST_P(Both, AnEmptyFileIsEmpty) { EXPECT_EQ(inflated(""), (Inflated{})); }

TEST_P(Both, StreamsAfterEachOtherAreReadAsOne) {
  EXPECT_EQ(inflated(compressed("one, ") + compressed("") + compressed("two, ") + compressed("") + compressed("three")),
            (Inflated{"one, two, three", ""}));
}

TEST_P(Both, StreamsMayEndAnywhereInThePiecesThatAreRead) {
  // The input is read in pieces of 256 KiB; the first stream ends at each byte around the border of two of them.
  const std::string filler = some_text(262'144 - 40);
  for (std::size_t extra = 0; extra < 48; ++extra) {
    const std::string text = filler + std::string(extra, 'x');
    EXPECT_EQ(inflated(compressed(text, 0) + compressed("next")), (Inflated{text + "next", ""})) << extra;
  }
}

TEST_P(Both, ManySmallStreamsAreReadAsOne) {
  std::string text;
  std::string bytes;
  for (std::size_t i = 0; i < 20'000; ++i) {
    text += some_text(i % 40, i);
    bytes += compressed(some_text(i % 40, i));
  }
  EXPECT_EQ(inflated(bytes), (Inflated{text, ""}));
}

TEST_P(Both, EveryCutIsAFaultAndWhatCameBeforeIsRight) {
  const std::string text = some_text(3000);
  const std::string bytes = compressed(text) + compressed(text);
  const std::size_t border = bytes.size() / 2;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Inflated out = inflated(bytes.substr(0, size));
    EXPECT_EQ(out.bytes, (text + text).substr(0, out.bytes.size()));
    EXPECT_EQ(out.fault.empty(), size == border) << size;
  }
}

TEST_P(Both, EveryFlippedBitOfTheTrailerIsFound) {
  const std::string bytes = compressed("turbine");
  const std::size_t trailer = GetParam().compression == Compression::gzip ? 8 : 4;
  for (std::size_t bit = 0; bit < trailer * 8; ++bit) {
    std::string broken = bytes;
    broken[bytes.size() - 1 - bit / 8] = static_cast<char>(broken[bytes.size() - 1 - bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(inflated(broken).fault, HasSubstr("wrong checksum")) << bit;
  }
}

TEST_P(Both, NoFlippedBitGivesOtherBytesWithoutAFault) {
  const std::string text = some_text(600);
  const std::string bytes = compressed(text);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    const Inflated out = inflated(broken);
    EXPECT_TRUE(!out.fault.empty() || out.bytes == text) << bit;
  }
}

/// Deflated data as its bits: numbers begin with the lowest one, codes with the highest.
class Bits {
 public:
  void number(std::uint32_t value, int bits) {
    for (int i = 0; i < bits; ++i) put((value >> i) & 1);
  }
  void code(std::uint32_t value, int bits) {
    for (int i = bits - 1; i >= 0; --i) put((value >> i) & 1);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void put(std::uint32_t bit) {
    if (used_ % 8 == 0) bytes_ += '\0';
    bytes_.back() = static_cast<char>(static_cast<unsigned char>(bytes_.back()) | bit << used_ % 8);
    ++used_;
  }
  std::string bytes_;
  std::size_t used_ = 0;
};

TEST_P(Both, OfWhatComesToNoCodeOnlyWhatItDecodesToIsGivenOut) {
  // After the first 64 KiB, ISA-L decodes into the caller's buffer and not into its own. There it counts too much.
  const std::string text = some_text(100'000);
  std::string stored{GetParam().compression == Compression::gzip ? compress("", gzip_window).substr(0, 10)
                                                                 : "\x78\x9c"};
  for (std::size_t at = 0; at < text.size(); at += 50'000) {
    Bits head;
    for (const auto& [value, bits] : {std::pair{0U, 8}, {50'000U, 16}, {~50'000U, 16}}) head.number(value, bits);
    stored += head.bytes() + text.substr(at, 50'000);
  }
  for (const bool distance : {true, false}) {
    Bits fixed;
    fixed.number(0b011, 3);  // the last block, of fixed codes
    for (int i = 0; i < 300; ++i) fixed.code(0x30 + 'a', 8);
    fixed.code(distance ? 0b11000101 : 0b11000110, 8);  // a length of 258, or a code for nothing
    fixed.code(0b11110, 5);                             // as a distance, a code for nothing
    for (const std::size_t piece : {150'000, 100'400, 30'000}) {
      const Inflated out = inflated(stored + fixed.bytes() + std::string(64, '\0'), piece);
      EXPECT_THAT(out.fault, HasSubstr("invalid deflate symbol"));
      EXPECT_EQ(out.bytes, (text + std::string(300, 'a')).substr(0, out.bytes.size()));
      EXPECT_GE(out.bytes.size(), text.size() + (piece < 100'000 ? 0 : 300 - 258)) << piece;
    }
  }
}

TEST_P(Both, TrailingBytesAreAFault) {
  for (const std::string& tail :
       {std::string(1, '\0'), std::string(512, '\0'), std::string{"junk"}, std::string{"\x1f"}}) {
    const Inflated out = inflated(compressed("all of it") + tail);
    EXPECT_EQ(out.bytes, "all of it");
    EXPECT_NE(out.fault, "");
  }
}

TEST_P(Both, PlainBytesAreNotTakenForCompressedOnes) {
  EXPECT_THAT(inflated("plain text").fault, HasSubstr("which may be uncompressed data (compressed byte 0 of 10)"));
}

TEST(Inflate, TheOtherFormatIsNamed) {
  EXPECT_THAT(inflate(compress("x", zlib_window), Compression::gzip).fault, HasSubstr("look like zlib"));
  EXPECT_THAT(inflate(compress("x", gzip_window), Compression::zlib).fault, HasSubstr("look like gzip"));
}

TEST(Inflate, CodesThatAreNotCompleteAreTakenWhenTheChecksumIsRight) {
  // A code for distances that zlib refuses as incomplete, and ISA-L does not: a flipped bit in a stream of zeros.
  const std::string head{"\x78\xda\xed\xc1\x31\x01\0\0\0\xc2\xa0\xf5\x4f\x6d\x08\x5f\xb0", 17};
  const std::string tail{"\x3e\x03\x00\xf0\x00\x01", 6};
  const std::string bytes = head + std::string(1016, '\0') + tail;
  const Inflated out = inflate(bytes, Compression::zlib);
  EXPECT_EQ(out.fault, "");
  const tests::Folder folder;
  Inflater collecting = *Inflater::make(Compression::zlib);  // by zlib, which refuses them
  collecting.collect(1000);
  EXPECT_EQ(rest_of(collecting, *File::open(folder.write("compressed", bytes))), out);
  EXPECT_EQ(out.bytes, std::string(out.bytes.size(), '\0'));
  EXPECT_EQ(out.bytes.size() % 65521, 0x00f0U) << "as Adler-32 says of zeros";
  std::string wrong = bytes;
  wrong[1036] = '\xf1';
  EXPECT_THAT(inflate(wrong, Compression::zlib).fault, HasSubstr("wrong checksum"));
}

TEST(Inflate, APresetDictionaryIsRefused) {
  EXPECT_THAT(inflate(compress("water water", zlib_window, 6, "water "), Compression::zlib).fault,
              HasSubstr("preset dictionary"));
}

TEST(Inflate, ReservedFlagsOfAGzipHeaderAreRefused) {
  for (const int bit : {5, 6, 7}) {
    std::string bytes = compress("x", gzip_window);
    bytes[3] = static_cast<char>(1 << bit);
    EXPECT_THAT(inflate(compress("first", gzip_window) + bytes, Compression::gzip).fault,
                HasSubstr("unknown header flags"));
  }
}

TEST(Inflate, OnlyOneLayerIsTakenOff) {
  const std::string inner = compress("x", gzip_window);
  EXPECT_EQ(inflate(compress(inner, gzip_window), Compression::gzip), (Inflated{inner, ""}));
}

TEST(Inflate, ADistanceBeforeTheBeginningIsAFault) {
  // One fixed-Huffman block: the literal 'a', then a match of length 3 at distance 2.
  EXPECT_THAT(inflate(std::string{"\x78\x9c\x4b\x04\x22\x00\x00\x00\x00\x00\x00", 11}, Compression::zlib).fault,
              HasSubstr("corrupt zlib data"));
}

TEST(Inflate, AStoredBlockWhoseLengthsDisagreeIsAFault) {
  std::string bytes = compress("stored", zlib_window, 0);
  bytes[5] = static_cast<char>(bytes[5] ^ 1);
  EXPECT_THAT(inflate(bytes, Compression::zlib).fault, HasSubstr("invalid deflate block"));
}

TEST(Inflate, HeadersWithNameCommentAndExtraAreRead) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY);
  Bytef extra[] = {'a', 'b', 1, 0, 7};
  Bytef name[] = "a name";
  Bytef comment[] = "a comment";
  gz_header header{.text = 1, .extra = extra, .extra_len = 5, .name = name, .comment = comment, .hcrc = 1};
  deflateSetHeader(&stream, &header);
  std::string out(200, '\0');
  std::string text = "hello";
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = 5;
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = 200;
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_EQ(inflate(out, Compression::gzip), (Inflated{"hello", ""}));
  EXPECT_EQ(inflate(out + out, Compression::gzip), (Inflated{"hellohello", ""}));
}

TEST(Inflate, WhatTheDeflaterPacksComesBack) {
  const std::string text = some_text(700'000);
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    Deflater deflater = *Deflater::make(compression);
    std::vector<std::byte> out;
    for (std::size_t at = 0; at < text.size(); at += 1000) {
      ASSERT_TRUE(deflater.write(tests::bytes_of(std::string_view{text}.substr(at, 1000)), out).ok());
    }
    ASSERT_TRUE(deflater.finish(out).ok());
    const std::string compressed{reinterpret_cast<const char*>(out.data()), out.size()};
    EXPECT_EQ(inflate(compressed, compression), (Inflated{text, ""}));
  }
}

TEST(Inflate, OnlyGzipAndZlibCanBeAskedFor) {
  EXPECT_FALSE(Inflater::make(Compression::none).ok());
  EXPECT_FALSE(Deflater::make(Compression::automatic).ok());
}

}  // namespace
}  // namespace forebay::io
