// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <jpeglib.h>

/// Writes and reads JPEGs with the library itself, for tests.
namespace forebay::test {

/// Pixels of an image, row by row.
struct Pixels {
  std::int64_t width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> values;

  [[nodiscard]] std::uint8_t at(std::int64_t x, std::int64_t y, std::int64_t c) const {
    return values[static_cast<std::size_t>((y * width + x) * channels + c)];
  }
};

/// An image with slopes, edges and some noise, different for each `seed`.
[[nodiscard]] inline Pixels picture(std::int64_t width, std::int64_t height, std::int64_t channels,
                                    std::uint32_t seed = 1) {
  Pixels out{.width = width, .height = height, .channels = channels, .values = {}};
  std::uint32_t noise = seed;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        noise = noise * 1664525 + 1013904223;
        const std::int64_t slope = (x * (c + 2) + y * (3 - c) + static_cast<std::int64_t>(seed) * 31) % 200;
        const std::int64_t edge = (x / 7 + y / 5) % 2 == 0 ? 40 : 0;
        out.values.push_back(static_cast<std::uint8_t>(slope + edge + noise % 8 / 4));
      }
    }
  }
  return out;
}

struct JpegForm {
  int quality = 90;
  int sampling = 2;  // of the first component: 1: 4:4:4, 2: 4:2:0
  bool progressive = false;
  int orientation = 0;  // in EXIF data; 0: none
};

[[nodiscard]] inline std::string jpeg_of(const Pixels& pixels, const JpegForm& form = {}) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(pixels.width);
  info.image_height = static_cast<JDIMENSION>(pixels.height);
  info.input_components = static_cast<int>(pixels.channels);
  info.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : pixels.channels == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, form.quality, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = pixels.channels == 3 ? form.sampling : 1;
  if (form.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (form.orientation > 0) {
    std::string exif{"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 24};
    exif += static_cast<char>(form.orientation);
    exif.append(7, '\0');
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()),
                      static_cast<unsigned>(exif.size()));
  }
  while (info.next_scanline < info.image_height) {
    const std::size_t at = info.next_scanline * static_cast<std::size_t>(pixels.width * pixels.channels);
    JSAMPROW row[1] = {const_cast<JSAMPLE*>(pixels.values.data() + at)};
    jpeg_write_scanlines(&info, row, 1);
  }
  jpeg_finish_compress(&info);
  std::string out{reinterpret_cast<const char*>(memory), size};
  jpeg_destroy_compress(&info);
  std::free(memory);
  return out;
}

/// What the library makes of a JPEG, read from its first row to its last at `eighths` / 8 of its size.
[[nodiscard]] inline Pixels pixels_of(const std::string& jpeg, int channels, int eighths = 8) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.scale_num = static_cast<unsigned>(eighths);
  info.scale_denom = 8;
  jpeg_start_decompress(&info);
  Pixels out{.width = info.output_width, .height = info.output_height, .channels = channels, .values = {}};
  out.values.resize(static_cast<std::size_t>(out.width * out.height * channels));
  while (info.output_scanline < info.output_height) {
    JSAMPROW row[1] = {out.values.data() + info.output_scanline * static_cast<std::size_t>(out.width * channels)};
    jpeg_read_scanlines(&info, row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return out;
}

}  // namespace forebay::test
