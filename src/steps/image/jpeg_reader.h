// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it
#include <exception>
#include <span>
#include <vector>

#include <forebay/step.h>

#include <jpeglib.h>

namespace forebay::steps {

/// A rectangle of pixels.
struct PixelArea {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

/// Reads one JPEG after the other with libjpeg-turbo: the header first, then rows of an area, from top to bottom.
///
///     open ─► begin ─► row ─► row ─► …        `open` may follow at any time
///
/// Every function fails with Code::data when the bytes are no intact JPEG, as far as they were read. It may throw what
/// the StopCheck throws. Errors of the library jump over its own frames only. Used by one thread at a time.
class JpegReader {
 public:
  struct Header {
    std::int64_t width = 0, height = 0;
    int orientation = 1;  ///< Of EXIF: 1 … 8.
    bool whole = false;   ///< The library holds the coefficients of the whole image (a progressive JPEG).
  };

  JpegReader() = default;
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Reads the header. `bytes` must stay as they are until the last row was read.
  [[nodiscard]] Result<Header> open(std::span<const std::byte> bytes, const StopCheck* stop);
  /// Memory that `begin` makes the library take, at most about.
  [[nodiscard]] std::int64_t memory_needed();
  /// Begins to decode at `eighths` / 8 of the size (1, 2, 4 or 8). `area` lies in the scaled image, whose sizes are
  /// those of the header times the scale, rounded up.
  [[nodiscard]] Result<void> begin(int channels, int eighths, const PixelArea& area);
  /// The next row of the area: its pixels, `channels` bytes each. Valid until the next call.
  [[nodiscard]] Result<const std::uint8_t*> row();
  void close();  ///< Gives the memory of the image back.

 private:
  struct Failure {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };
  struct Progress {
    jpeg_progress_mgr base;
    JpegReader* reader;
  };
  static void fail(j_common_ptr info);
  static void warn(j_common_ptr info, int level);
  static void look(j_common_ptr info);
  [[nodiscard]] bool create();
  [[nodiscard]] bool read_header(std::span<const std::byte> bytes);
  [[nodiscard]] bool start(int channels, int eighths);
  [[nodiscard]] bool crop(JDIMENSION x, JDIMENSION width);
  [[nodiscard]] bool skip(JDIMENSION rows);
  [[nodiscard]] bool read(std::uint8_t* row);
  [[nodiscard]] Error failed();
  void convert_ink();

  jpeg_decompress_struct info_{};
  Failure failure_{};
  Progress progress_{};
  const StopCheck* stop_ = nullptr;
  std::exception_ptr stopped_;
  bool created_ = false;
  int channels_ = 3;
  std::size_t left_ = 0;              // bytes of a row before the area
  std::int64_t width_ = 0;            // of the area
  std::vector<std::uint8_t> row_;     // as the library gives it
  std::vector<std::uint8_t> pixels_;  // of images in CMYK: converted
};

}  // namespace forebay::steps
