// SPDX-License-Identifier: Apache-2.0
#include <forebay/image.h>

#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "steps/image/resample.h"
#include "steps/image/resample_bytes.h"
#include "tests/support/pictures.h"

namespace forebay {
namespace {

using test::bmp_of;
using test::gif_of;
using test::picture;
using test::Pixels;
using test::png_chunk;
using test::png_from;
using test::png_of;
using test::webp_of;
using ::testing::HasSubstr;

Result<Tensor> read(const std::string& file, const DecodeImage& options = {}) {
  return decode_image(std::as_bytes(std::span{file}), options);
}

std::string fault(const std::string& file, const DecodeImage& options = {}) {
  const auto out = read(file, options);
  if (out.ok()) return "none";
  EXPECT_EQ(out.error().code(), Code::data);
  return out.error().text();
}

std::vector<std::uint8_t> pixels_in(const std::string& file, const DecodeImage& options = {}) {
  const auto out = read(file, options);
  EXPECT_TRUE(out.ok()) << out.error().text();
  if (!out.ok()) return {};
  const auto found = out->as<std::uint8_t>();
  return {found.begin(), found.end()};
}

DecodeImage as_stored() { return {.channels = 0}; }
DecodeImage all_frames() { return {.channels = 4, .frames = ImageFrames::all}; }

/// Decodes every prefix of a file. All that are too short must be faults.
void expect_cuts_fail(const std::string& file, std::size_t needed, const DecodeImage& options = {}) {
  for (std::size_t size = 0; size < needed; ++size) ASSERT_NE(fault(file.substr(0, size), options), "none") << size;
}

/// Decodes a file with each byte changed: anything may come of it but a crash.
void change_bytes(const std::string& file, const DecodeImage& options = {}) {
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      DecodeImage limited = options;
      limited.max_image_pixels = 100'000;
      static_cast<void>(read(changed, limited));
    }
  }
}

TEST(ImageFormats, BytesThatAreNoImageAreNamed) {
  EXPECT_EQ(fault(""), "not an image: there are no bytes");
  EXPECT_THAT(fault(" <!DOCTYPE html><p>404"), HasSubstr("the bytes are HTML; JPEG, PNG, GIF, BMP and WebP can be"));
  EXPECT_THAT(fault("<?xml version='1.0'?><svg/>"), HasSubstr("the bytes are SVG"));
  EXPECT_THAT(fault("%!PS-Adobe EPSF"), HasSubstr("the bytes are PostScript"));
  EXPECT_THAT(fault("%PDF-1.4"), HasSubstr("the bytes are PDF"));
  EXPECT_THAT(fault("hello"), HasSubstr("the bytes begin with 68 65 6C 6C 6F"));
}

TEST(ImageFormats, PngKeepsItsPixelsInEveryFormOfStorage) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    const Pixels image = picture(19, 11, channels);
    for (const bool interlaced : {false, true})
      EXPECT_EQ(pixels_in(png_of(image, interlaced), as_stored()), image.values) << channels << interlaced;
  }
}

TEST(ImageFormats, RegionsOfEveryFormatAreThoseOfTheWholeImage) {
  const Pixels image = picture(21, 13, 3);
  std::string rows;
  for (std::int64_t y = 13; y-- > 0;) {
    for (std::int64_t x = 0; x < 21; ++x)
      for (const int c : {2, 1, 0}) rows += static_cast<char>(image.at(x, y, c));
    rows += std::string(1, '\0');  // rows are multiples of 4 bytes
  }
  for (const std::string& file :
       {png_of(image), png_of(image, true), webp_of(image), bmp_of({.width = 21, .height = 13, .pixels = rows})}) {
    EXPECT_EQ(pixels_in(file), image.values);
    std::vector<std::uint8_t> middle;  // the square of side 7 in the middle
    for (std::int64_t y = 3; y < 10; ++y)
      for (std::int64_t x = 7; x < 14; ++x)
        for (std::int64_t c = 0; c < 3; ++c) middle.push_back(image.at(x, y, c));
    EXPECT_EQ(pixels_in(file, {.region = {.central = CentralRegion{.size = 7.0 / 13}}}), middle);
  }
}

TEST(ImageFormats, PngOf16BitsKeepsThemWhereTheTypeCan) {
  const std::string file = png_from({.width = 2, .bits = 16, .color = 0, .rows = std::string{"\0\x12\x34\xAB\xCD", 5}});
  EXPECT_EQ(pixels_in(file, {.channels = 1}), (std::vector<std::uint8_t>{0x12, 0xAB}));
  const auto wide = read(file, {.channels = 1, .dtype = DType::uint16});
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->as<std::uint16_t>()[0], 0x1234);
  EXPECT_EQ(wide->as<std::uint16_t>()[1], 0xABCD);
  const auto unit = read(file, {.channels = 1, .dtype = DType::float32, .scale = ImageScale::unit});
  ASSERT_TRUE(unit.ok());
  EXPECT_FLOAT_EQ(unit->as<float>()[1], 0xABCD / 65535.0F);
}

TEST(ImageFormats, ChannelsAreConvertedAndNormalized) {
  const std::string file = png_from({.color = 2, .rows = std::string{"\0\x0A\x14\x1E", 4}});
  EXPECT_EQ(pixels_in(file, {.channels = 1}), (std::vector<std::uint8_t>{18}));  // 0.299 · 10 + 0.587 · 20 + 0.114 · 30
  EXPECT_EQ(pixels_in(file, {.channels = 4}), (std::vector<std::uint8_t>{10, 20, 30, 255}));
  const auto out = read(file, {.dtype = DType::float32,
                               .scale = ImageScale::unit,
                               .normalize = ImageNormalization{.mean = {0, 0.5, 1}, .std = {0.5}}});
  ASSERT_TRUE(out.ok());
  const std::vector<float> wanted{10 / 127.5F, 20 / 127.5F - 1, 30 / 127.5F - 2};
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(out->as<float>()[c], wanted[c], 1e-6);
}

TEST(ImageFormats, BrokenPngsAreFaults) {
  const std::string good = png_of(picture(9, 7, 3));
  expect_cuts_fail(good, good.size());
  change_bytes(good);
  change_bytes(png_of(picture(9, 7, 2), true), as_stored());
  std::string changed = good;
  changed[good.find("IDAT") + 8] ^= 1;
  EXPECT_THAT(fault(changed), HasSubstr("not an intact PNG"));
  EXPECT_THAT(fault(png_from({.width = 0x7FFFFFFF, .height = 0x7FFFFFFF})),
              HasSubstr("2147483647 x 2147483647 pixels has more than max_image_pixels"));
  const std::string colors = png_chunk("PLTE", "abcdef");
  EXPECT_EQ(pixels_in(png_from({.color = 3, .more = colors, .rows = std::string{"\0\1", 2}})),
            (std::vector<std::uint8_t>{'d', 'e', 'f'}));
  EXPECT_THAT(fault(png_from({.color = 3, .more = colors, .rows = std::string{"\0\2", 2}})), HasSubstr("palette"));
  EXPECT_THAT(fault(png_from({.color = 3, .rows = std::string{"\0\1", 2}})), HasSubstr("not an intact PNG"));
  EXPECT_THAT(fault(png_from({.color = 0, .rows = std::string{"\0\1", 2}, .end = ""})), HasSubstr("it ends early"));
}

TEST(ImageFormats, TextAndProfilesOfPngsAreNotInflated) {
  const std::string bomb = test::deflated(std::string(std::size_t{8} << 20, 'x'));
  const std::string more = png_chunk("zTXt", std::string{"k\0\0", 3} + bomb) +
                           png_chunk("iCCP", std::string{"p\0\0", 3} + bomb) +
                           png_chunk("acTL", test::big_endian(2) + test::big_endian(0));  // an APNG: its first image
  EXPECT_EQ(pixels_in(png_from({.color = 0, .more = more, .rows = std::string{"\0\x07", 2}}), {.channels = 1}),
            (std::vector<std::uint8_t>{7}));
}

TEST(ImageFormats, GifFramesAreDrawnOverEachOther) {
  const std::string file = gif_of(2, 1,
                                  {{.width = 2, .indexes = {1, 2}},
                                   {.width = 2, .indexes = {0, 3}, .transparent = 0, .disposal = DISPOSE_BACKGROUND},
                                   {.x = 1, .indexes = {1}, .disposal = DISPOSE_PREVIOUS},
                                   {.indexes = {2}}});
  EXPECT_EQ(pixels_in(file), (std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0}));
  const auto all = read(file, all_frames());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->shape, (Shape{4, 1, 2, 4}));
  EXPECT_EQ(pixels_in(file, all_frames()),
            (std::vector<std::uint8_t>{255, 0,   0, 255, 0,   255, 0,   255,   //
                                       255, 0,   0, 255, 0,   0,   255, 255,   // index 0 leaves what was there
                                       0,   0,   0, 0,   255, 0,   0,   255,   // the second frame is cleared
                                       0,   255, 0, 255, 0,   0,   0,   0}));  // the third one is taken back
}

TEST(ImageFormats, BrokenGifsAreFaults) {
  const std::string good = gif_of(3, 2,
                                  {{.width = 3, .height = 2, .indexes = {0, 1, 2, 3, 2, 1}},
                                   {.width = 3, .height = 2, .indexes = {3, 1, 2, 3, 2, 1}, .interlaced = true}});
  EXPECT_EQ(fault(good, all_frames()), "none");
  // Without its end mark a file is whole after each of its frames, and nowhere else.
  std::vector<std::size_t> whole;
  for (std::size_t size = 0; size < good.size(); ++size)
    if (fault(good.substr(0, size), all_frames()) == "none") whole.push_back(size);
  const std::size_t second = good.rfind("\x21\xF9");  // the control block before the second frame
  EXPECT_EQ(whole, (std::vector{second, good.size() - 1}));
  change_bytes(good, all_frames());
  EXPECT_THAT(fault(gif_of(0, 0, {{}})), HasSubstr("its canvas has 0 x 0 pixels"));
  EXPECT_THAT(fault(gif_of(2, 2, {{.x = 1, .width = 2, .indexes = {0, 0}}})), HasSubstr("is not inside the canvas"));
  std::string empty = gif_of(2, 2, {{}});
  empty[empty.find(std::string{"\x2C\0\0\0\0\1", 6}) + 5] = '\0';
  EXPECT_THAT(fault(empty), HasSubstr("a frame of 0 x 1 pixels"));
  std::string bare = good;  // no palette: its flag is cleared and its 12 bytes are removed
  bare[10] = static_cast<char>(bare[10] & 0x7F);
  bare.erase(13, 12);
  EXPECT_THAT(fault(bare), HasSubstr("a frame has no palette"));
}

TEST(ImageFormats, FramesAreLimitedBeforeAnyIsDecoded) {
  const std::vector<test::GifFrame> many(40, {.width = 1, .height = 1, .indexes = {1}});
  DecodeImage options = all_frames();
  options.max_frames = 30;
  EXPECT_THAT(fault(gif_of(1, 1, many), options), HasSubstr("more than max_frames, 30"));
  EXPECT_EQ(fault(gif_of(1, 1, many), {.max_frames = 30}), "none");
  EXPECT_THAT(fault(gif_of(60000, 60000, many), all_frames()),
              HasSubstr("60000 x 60000 pixels in 40 frames has more than max_image_pixels"));
}

TEST(ImageFormats, BmpsOfEveryDepthAreRead) {
  const std::string table{"\0\0\0\0\x01\x02\x03\0", 8};  // black; blue 1, green 2, red 3
  const std::vector<std::uint8_t> two{3, 2, 1, 0, 0, 0};
  EXPECT_EQ(pixels_in(bmp_of({.width = 2, .bits = 1, .colors = 2, .table = table, .pixels = {"\x80\0\0\0", 4}})), two);
  EXPECT_EQ(pixels_in(bmp_of({.width = 2, .bits = 4, .colors = 2, .table = table, .pixels = {"\x10\0\0\0", 4}})), two);
  EXPECT_EQ(pixels_in(bmp_of({.width = 2, .bits = 8, .colors = 2, .table = table, .pixels = {"\1\0\0\0", 4}})), two);
  EXPECT_EQ(pixels_in(bmp_of(
                {.width = 2, .bits = 8, .compression = 1, .colors = 2, .table = table, .pixels = {"\1\1\1\0\0\1", 6}})),
            two);
  EXPECT_EQ(pixels_in(bmp_of({.bits = 16, .pixels = {"\xE0\x7F\0\0", 4}})), (std::vector<std::uint8_t>{255, 255, 0}));
  EXPECT_EQ(pixels_in(bmp_of({.height = -1, .bits = 32, .pixels = {"\1\2\3\0", 4}})),
            (std::vector<std::uint8_t>{3, 2, 1}));
}

TEST(ImageFormats, BrokenBmpsAreFaults) {
  const std::string row(4, 'x');
  const std::string good = bmp_of({.pixels = row});
  expect_cuts_fail(good, good.size());
  change_bytes(good);
  change_bytes(bmp_of({.width = 2,
                       .bits = 8,
                       .compression = 1,
                       .colors = 2,
                       .table = std::string(8, 'c'),
                       .pixels = {"\1\1\1\0\0\1", 6}}));
  EXPECT_THAT(fault(bmp_of({.height = std::numeric_limits<std::int32_t>::min(), .pixels = row})),
              HasSubstr("it ends early: 2147483648 rows"));
  for (const std::uint32_t bits : {0U, 3U, 255U})
    EXPECT_THAT(fault(bmp_of({.bits = bits, .pixels = row})), HasSubstr("1, 4, 8, 16, 24 and 32 are known"));
  EXPECT_THAT(fault(bmp_of({.pixels = row, .pixels_at = 0x7FFFFFFF})), HasSubstr("its pixels begin after its end"));
  EXPECT_THAT(fault(bmp_of({.width = 0x7FFFFFFF, .height = 0x7FFFFFFF, .bits = 32, .pixels = row})),
              HasSubstr("it ends early"));
  EXPECT_THAT(
      fault(bmp_of(
          {.width = 2, .bits = 8, .compression = 1, .table = std::string(1024, 'c'), .pixels = {"\3\1\0\1", 4}})),
      HasSubstr("a run leaves the image"));
  EXPECT_THAT(fault(bmp_of({.width = 60000,
                            .height = 60000,
                            .bits = 8,
                            .compression = 1,
                            .table = std::string(1024, 'c'),
                            .pixels = {"\0\1", 2}})),
              HasSubstr("more than max_image_pixels"));
  EXPECT_THAT(fault(bmp_of({.bits = 8, .colors = 1, .table = "cccc", .pixels = {"\5\0\0\0", 4}})),
              HasSubstr("outside of its palette"));
}

TEST(ImageFormats, WebpIsReadWithAndWithoutAlpha) {
  for (const std::int64_t channels : {3, 4}) {
    Pixels image = picture(15, 9, channels);
    for (std::size_t i = 3; channels == 4 && i < image.values.size(); i += 4) image.values[i] |= 1;  // never invisible
    const std::string file = webp_of(image);
    EXPECT_EQ(pixels_in(file, as_stored()), image.values);
    expect_cuts_fail(file, file.size() - 1);
    change_bytes(file);
  }
}

/// A lossless WebP whose first prefix code has `ones` symbols of 1 bit and 280 - `ones` of 15 bits. More bits are
/// promised than there are codes, as in the files of CVE-2023-4863.
std::string webp_with_overfull_code(int ones) {
  std::vector<bool> bits;
  const auto put = [&](std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bits.push_back((value >> i & 1) != 0);
  };
  put(7, 14), put(7, 14);           // width and height, less 1
  put(0, 1), put(0, 3);             // no alpha, version 0
  put(0, 1), put(0, 1), put(0, 1);  // no transform, no color cache, one group of codes
  put(0, 1), put(19 - 4, 4);        // a code of lengths, of which all 19 are given
  constexpr std::array order{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (const int symbol : order) put(symbol == 1 || symbol == 15 ? 1 : 0, 3);
  put(0, 1);  // lengths of all symbols
  for (int symbol = 0; symbol < 280; ++symbol) put(symbol < ones ? 0 : 1, 1);
  for (int i = 0; i < 4096; ++i) put(static_cast<std::uint32_t>(i * 2654435761U >> 24), 8);
  std::string body{"\x2F"};
  for (std::size_t at = 0; at + 8 <= bits.size(); at += 8) {
    int byte = 0;
    for (std::size_t i = 0; i < 8; ++i) byte |= bits[at + i] ? 1 << i : 0;
    body += static_cast<char>(byte);
  }
  if (body.size() % 2 != 0) body += '\0';
  const auto size = static_cast<std::uint32_t>(body.size());
  return "RIFF" + test::little_endian(size + 12) + "WEBPVP8L" + test::little_endian(size) + body;
}

TEST(ImageFormats, OverfullCodesOfWebpAreFaults) {
  for (const int ones : {1, 2, 3, 4, 5, 140, 279, 280})
    EXPECT_EQ(fault(webp_with_overfull_code(ones)), "not an intact WebP: its data is corrupt") << ones;
}

TEST(ImageFormats, AnImageOfAnotherSizeIsAFault) {
  const std::string file = png_of(picture(5, 4, 3));
  const std::vector<std::int64_t> size{4, 5};
  EXPECT_EQ(fault(file, {.size = size}), "none");
  EXPECT_THAT(fault(png_of(picture(4, 5, 3)), {.size = size}), HasSubstr("an image of 5 x 4 pixels"));
}

TEST(ImageFormats, MethodsOfResizeAreWhatTheirNamesSay) {
  const std::string file =
      png_from({.width = 4, .color = 0, .rows = std::string{"\0\x00\x0A\x64\xC8", 5}});  // 0 10 100 200
  const auto row = [&](ResizeMethod method, std::int64_t width) {
    return pixels_in(file, {.channels = 1, .resize = std::vector<std::int64_t>{1, width}, .method = method});
  };
  using Row = std::vector<std::uint8_t>;
  EXPECT_EQ(row(ResizeMethod::nearest, 2), (Row{10, 200}));
  EXPECT_EQ(row(ResizeMethod::area, 2), (Row{5, 150}));
  EXPECT_EQ(row(ResizeMethod::bilinear, 2), (Row{5, 150}));
  EXPECT_EQ(row(ResizeMethod::bilinear, 8), (Row{0, 3, 8, 33, 78, 125, 175, 200}));
  EXPECT_EQ(row(ResizeMethod::nearest, 8), (Row{0, 0, 10, 10, 100, 100, 200, 200}));
  EXPECT_EQ(row(ResizeMethod::area, 1), (Row{78}));
}

TEST(ImageFormats, AllProcessorsComputeTheSameBytes) {
#if defined(__x86_64__)
  if (isa() < Isa::avx2) GTEST_SKIP() << "this processor has one set of kernels";
  const Pixels image = picture(300, 8, 4);
  for (const int channels : {1, 2, 3, 4}) {
    for (const std::int64_t outputs : {1, 17, 50, 75, 100, 150, 290, 600}) {
      steps::AxisWeights columns;
      columns.set(ResizeMethod::antialias_bilinear, 300, 0, 300, outputs);
      columns.fix();
      const std::array<const std::uint8_t*, 4> rows{image.values.data(), image.values.data() + 1200,
                                                    image.values.data() + 2400, image.values.data() + 3600};
      const std::array<std::int16_t, 4> weights{5000, 7000, 4384, 0};
      const auto run = [&](const steps::ByteKernels& kernels) {
        std::vector<std::int16_t> between(static_cast<std::size_t>(300 * channels + steps::ByteKernels::slack));
        std::vector<std::uint8_t> out(static_cast<std::size_t>(outputs * channels));
        kernels.sum_rows(rows.data(), weights.data(), 4, 300 * channels, between.data());
        kernels.sum_columns(between.data(), columns, channels, out.data(), channels);
        return out;
      };
      ASSERT_EQ(run(steps::byte_kernels_avx2), run(steps::byte_kernels_scalar)) << channels << " " << outputs;
    }
  }
#endif
}

}  // namespace
}  // namespace forebay
