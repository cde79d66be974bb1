// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gif_lib.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

#include "tests/support/jpeg.h"

/// Writes PNG, GIF, BMP and WebP files, for tests.
namespace forebay::test {

[[nodiscard]] inline std::string big_endian(std::uint32_t value, int bytes = 4) {
  std::string out;
  for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i));
  return out;
}
[[nodiscard]] inline std::string little_endian(std::uint32_t value, int bytes = 4) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

[[nodiscard]] inline std::string png_chunk(const std::string& type, const std::string& content) {
  const std::string body = type + content;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(content.size())) + body + big_endian(static_cast<std::uint32_t>(sum));
}

[[nodiscard]] inline std::string deflated(const std::string& content) {
  uLongf size = compressBound(content.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(content.data()), content.size());
  out.resize(size);
  return out;
}

/// The parts of a PNG: `color` is its color type, `rows` its filtered bytes, `more` chunks between IHDR and IDAT.
struct PngParts {
  std::uint32_t width = 1, height = 1;
  int bits = 8, color = 2;
  bool interlaced = false;
  std::string more = {}, rows = {}, end = png_chunk("IEND", "");
};

[[nodiscard]] inline std::string png_from(const PngParts& parts) {
  std::string header = big_endian(parts.width) + big_endian(parts.height);
  for (const int byte : {parts.bits, parts.color, 0, 0, parts.interlaced ? 1 : 0}) header += static_cast<char>(byte);
  return std::string{"\x89PNG\r\n\x1A\n"} + png_chunk("IHDR", header) + parts.more +
         png_chunk("IDAT", deflated(parts.rows)) + parts.end;
}

/// A PNG of 1 to 4 channels, written by the library, interlaced or not.
[[nodiscard]] inline std::string png_of(const Pixels& pixels, bool interlaced = false) {
  constexpr std::array colors{PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto put = [](png_structp to, png_bytep bytes, std::size_t size) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(bytes), size);
  };
  png_set_write_fn(png, &out, put, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width), static_cast<png_uint_32>(pixels.height), 8,
               colors[static_cast<std::size_t>(pixels.channels - 1)],
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < pixels.height; ++y)
    rows.push_back(const_cast<png_bytep>(pixels.values.data()) + y * pixels.width * pixels.channels);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

/// One frame of a GIF: indexes of colors at a place of the canvas.
struct GifFrame {
  int x = 0, y = 0, width = 1, height = 1;
  std::vector<std::uint8_t> indexes = {0};
  int transparent = NO_TRANSPARENT_COLOR;
  int disposal = DISPOSAL_UNSPECIFIED;
  bool interlaced = false;
};

/// A GIF whose palette is black, red, green, blue.
[[nodiscard]] inline std::string gif_of(int width, int height, const std::vector<GifFrame>& frames) {
  const std::array<GifColorType, 4> colors{{{0, 0, 0}, {255, 0, 0}, {0, 255, 0}, {0, 0, 255}}};
  std::string out;
  int error = 0;
  const auto put = [](GifFileType* to, const GifByteType* bytes, int size) {
    static_cast<std::string*>(to->UserData)
        ->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    return size;
  };
  GifFileType* gif = EGifOpen(&out, put, &error);
  EGifSetGifVersion(gif, true);
  ColorMapObject* palette = GifMakeMapObject(4, colors.data());
  EGifPutScreenDesc(gif, width, height, 8, 0, palette);
  for (const GifFrame& frame : frames) {
    const GraphicsControlBlock control{
        .DisposalMode = frame.disposal, .UserInputFlag = false, .DelayTime = 1, .TransparentColor = frame.transparent};
    std::array<GifByteType, 4> block{};
    EGifGCBToExtension(&control, block.data());
    EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, block.data());
    EGifPutImageDesc(gif, frame.x, frame.y, frame.width, frame.height, frame.interlaced, nullptr);
    EGifPutLine(gif, const_cast<GifPixelType*>(frame.indexes.data()), static_cast<int>(frame.indexes.size()));
  }
  EGifCloseFile(gif, &error);
  GifFreeMapObject(palette);
  return out;
}

/// The parts of a BMP with a header of 40 bytes.
struct BmpParts {
  std::int32_t width = 1, height = 1;
  std::uint32_t bits = 24, compression = 0, colors = 0;
  std::string table = {}, pixels = {};
  std::int64_t pixels_at = -1;  // -1: after the table
};

[[nodiscard]] inline std::string bmp_of(const BmpParts& parts) {
  const std::string info = little_endian(40) + little_endian(static_cast<std::uint32_t>(parts.width)) +
                           little_endian(static_cast<std::uint32_t>(parts.height)) + little_endian(1, 2) +
                           little_endian(parts.bits, 2) + little_endian(parts.compression) + little_endian(0) +
                           little_endian(0) + little_endian(0) + little_endian(parts.colors) + little_endian(0);
  const std::int64_t at = parts.pixels_at < 0 ? 54 + std::ssize(parts.table) : parts.pixels_at;
  const auto size = static_cast<std::uint32_t>(54 + parts.table.size() + parts.pixels.size());
  return "BM" + little_endian(size) + little_endian(0) + little_endian(static_cast<std::uint32_t>(at)) + info +
         parts.table + parts.pixels;
}

/// A lossless WebP of 3 or 4 channels.
[[nodiscard]] inline std::string webp_of(const Pixels& pixels) {
  std::uint8_t* bytes = nullptr;
  const int width = static_cast<int>(pixels.width), height = static_cast<int>(pixels.height);
  const std::size_t size = pixels.channels == 4
                               ? WebPEncodeLosslessRGBA(pixels.values.data(), width, height, width * 4, &bytes)
                               : WebPEncodeLosslessRGB(pixels.values.data(), width, height, width * 3, &bytes);
  std::string out{reinterpret_cast<const char*>(bytes), size};
  WebPFree(bytes);
  return out;
}

}  // namespace forebay::test
