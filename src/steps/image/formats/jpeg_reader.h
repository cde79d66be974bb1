// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it
#include <exception>
#include <span>
#include <vector>

#include <jpeglib.h>

#include "steps/image/formats/image_reader.h"

namespace forebay::steps {

/// Reads JPEGs with libjpeg-turbo. Errors of the library jump over its own frames only.
class JpegReader final : public ImageReader {
 public:
  JpegReader() = default;
  ~JpegReader() override;
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Result<ImageHeader> open(std::span<const std::byte> bytes, const FrameLimit& frames, const StopCheck* stop) override;
  Result<void> begin(const ImageRequest& request) override;
  Result<const std::byte*> row(std::byte* place) override;
  void close() override;

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
  /// Memory that `begin` makes the library take, at most about.
  [[nodiscard]] std::int64_t memory_needed();
  [[nodiscard]] bool create();
  [[nodiscard]] bool read_header(std::span<const std::byte> bytes);
  [[nodiscard]] bool start(int channels, int eighths, bool fast_dct);
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
  bool direct_ = false;  // a row of the library is a row of the area
  int channels_ = 3;
  std::size_t left_ = 0;              // bytes of a row before the area
  std::int64_t width_ = 0;            // of the area
  std::vector<std::uint8_t> row_;     // as the library gives it
  std::vector<std::uint8_t> pixels_;  // of images in CMYK: converted
};

}  // namespace forebay::steps
