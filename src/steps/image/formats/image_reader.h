// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <forebay/step.h>
#include <forebay/steps/decode_image.h>

namespace forebay::steps {

/// A rectangle of pixels.
struct PixelArea {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

using ImageFormat = ImageFileFormat;
inline constexpr std::size_t image_formats = 5;
[[nodiscard]] std::string_view to_string(ImageFormat format);

/// The format that the first bytes are of. Fails with Code::data when it is none that can be decoded; the message says
/// what the bytes are, as far as they tell.
[[nodiscard]] Result<ImageFormat> format_of(std::span<const std::byte> bytes);

/// What a file says about its image before any pixel is decoded.
struct ImageHeader {
  std::int64_t width = 0, height = 0;
  int channels = 3;         ///< As stored: 1 gray, 2 gray and alpha, 3 colors, 4 colors and alpha.
  int orientation = 1;      ///< Of EXIF: 1 … 8.
  bool wide = false;        ///< It has 16 bits for each channel.
  bool scales = false;      ///< `begin` can decode at 1/2, 1/4 and 1/8.
  std::int64_t frames = 1;  ///< Of an animation, at most `FrameLimit::max`; 1 unless all are wanted.
  std::int64_t memory = 0;  ///< Bytes that `begin` makes the reader take, about, at most.
};

/// The frames that are wanted.
struct FrameLimit {
  bool all = false;           ///< Else the first one.
  std::int64_t max = 10'000;  ///< More frames are a fault.
};

/// The pixels that are wanted.
struct ImageRequest {
  int channels = 3;       ///< 1 … 4.
  bool wide = false;      ///< Rows have 16 bits for each channel where the image has; else 8.
  int eighths = 8;        ///< Scale: 1, 2, 4 or 8 eighths; 8 unless the header says `scales`.
  PixelArea area = {};    ///< In the scaled image, whose sizes are those of the header times the scale, rounded up.
  bool fast_dct = false;  ///< JPEG: the faster transform, whose pixels differ by a few levels.
};

/// Reads one image of one format after the other: the header first, then the rows of an area from top to bottom; of
/// several frames one after the other.
///
///     open ─► begin ─► row ─► row ─► …        `open` may follow at any time
///
/// Every function fails with Code::data when the bytes are no intact image, as far as they were read. It may throw what
/// the StopCheck throws. Errors of a library jump over its own frames only. Used by one thread at a time.
class ImageReader {
 public:
  virtual ~ImageReader() = default;
  /// Reads the header; no memory is taken that grows with the sizes in it. `bytes` must stay as they are until the last
  /// row was read.
  [[nodiscard]] virtual Result<ImageHeader> open(std::span<const std::byte> bytes, const FrameLimit& frames,
                                                 const StopCheck* stop) = 0;
  /// Begins to decode.
  [[nodiscard]] virtual Result<void> begin(const ImageRequest& request) = 0;
  /// The next row of the area: its pixels, as many channels as were asked for, of 1 byte, or of 2 when the request and
  /// the header say `wide`. Valid until the next call. The reader may write the row to `place`, which has room for it,
  /// and return that; null: it never does.
  [[nodiscard]] virtual Result<const std::byte*> row(std::byte* place) = 0;
  /// Gives the memory of the image back.
  virtual void close() = 0;
};

[[nodiscard]] std::unique_ptr<ImageReader> make_jpeg_reader();
[[nodiscard]] std::unique_ptr<ImageReader> make_png_reader();
[[nodiscard]] std::unique_ptr<ImageReader> make_gif_reader();
[[nodiscard]] std::unique_ptr<ImageReader> make_bmp_reader();
[[nodiscard]] std::unique_ptr<ImageReader> make_webp_reader();
[[nodiscard]] std::unique_ptr<ImageReader> make_image_reader(ImageFormat format);

/// "not an intact PNG: …", as Code::data.
[[nodiscard]] Error image_fault(std::string_view format, std::string_view what);

}  // namespace forebay::steps
