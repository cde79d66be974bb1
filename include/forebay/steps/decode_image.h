// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// The square in the middle of an image.
struct CentralRegion {
  double size = 1;  ///< Its side as a share of the image's shorter side, more than 0 and at most 1.
};

/// A rectangle of random area, aspect ratio and place. The area and the logarithm of the ratio are uniform. A rectangle
/// that does not fit is drawn again, ten times at most; then it is the largest central one whose ratio is allowed.
struct RandomResizedRegion {
  std::vector<double> scale = {0.08, 1.0};         ///< Smallest and largest share of the image's area.
  std::vector<double> ratio = {3.0 / 4, 4.0 / 3};  ///< Smallest and largest width ÷ height.
};

/// The part of an image that is decoded; at most one member is set. Neither: the whole image.
struct ImageRegion {
  std::optional<CentralRegion> central = {};
  std::optional<RandomResizedRegion> random_resized = {};
};

/// Subtracts a number from each channel and divides by another, after `scale`. One number for all channels, or one for
/// each.
struct ImageNormalization {
  std::vector<double> mean = {0};
  std::vector<double> std = {1};
};

enum class ImageFileFormat : std::uint8_t { jpeg, png, gif, bmp, webp };
enum class ImageFlip : std::uint8_t { none, random };
enum class ImageFrames : std::uint8_t { first, all };
enum class ImageLayout : std::uint8_t { hwc, chw };
enum class JpegTransform : std::uint8_t { accurate, fast };
enum class ImageScale : std::uint8_t { none, unit };

/// How output pixel i is made of the pixels around (i + 0.5) · s, where s is the ratio of the sizes.
enum class ResizeMethod : std::uint8_t {
  antialias_bilinear,  ///< A triangle of half width max(s, 1).
  antialias_bicubic,   ///< Keys's cubic, a = -0.5, of half width 2 · max(s, 1).
  bilinear,            ///< The two nearest pixels of each axis, whatever s is.
  area,                ///< The mean of the pixels that output pixel i covers.
  nearest              ///< The pixel at that place.
};

/// Decodes images (JPEG, PNG, GIF, BMP, WebP) to pixels; the first bytes tell the format. The region, the size and the
/// flip are part of the same step, so that only the region is decoded, at the scale that is needed, and no whole image
/// lies in memory.
///
///     bytes ─► header ─► orientation ─► region ─► scale in the decoder ─► resize ─► flip ─► values, layout
///
/// A row whose bytes are no intact image is a fault of the row. Alpha is dropped unless `channels` is 4 or 0; it is
/// never blended. Pixels keep their values, 0 … 255, or 0 … 65535 of a 16-bit PNG when `dtype` is not uint8.
struct DecodeImage {
  TensorName tensor;                                     ///< Scalar strings: the bytes of a file each.
  std::optional<NewTensorName> out = {};                 ///< Name of the pixels. Empty: they replace `tensor`.
  std::optional<ImageFileFormat> format = {};            ///< What the images should be. The bytes decide all the same.
  std::int64_t channels = 3;                             ///< 0: as stored, 1: luminance, 3: colors, 4: with alpha.
  ImageFrames frames = ImageFrames::first;               ///< all: an axis of frames comes before the others.
  ImageRegion region = {};                               ///< Of the image in the orientation in which it is shown.
  std::optional<std::vector<std::int64_t>> resize = {};  ///< [height, width]; empty: the size of the region.
  /// [height, width] that every image has as it is shown; another size is a fault of the row. The tensor then has a
  /// fixed shape, and images are decoded straight into the batch. Neither with `resize` nor with a region.
  std::optional<std::vector<std::int64_t>> size = {};
  ResizeMethod method = ResizeMethod::antialias_bilinear;
  ImageFlip flip = ImageFlip::none;                  ///< random: every other row is mirrored left to right.
  DType dtype = DType::uint8;                        ///< uint8, uint16 (both rounded) or float32.
  ImageScale scale = ImageScale::none;               ///< unit: floats from 0 to 1.
  std::optional<ImageNormalization> normalize = {};  ///< Of floats.
  ImageLayout layout = ImageLayout::hwc;             ///< Axes: height, width, channels, or channels first.
  bool orientation = true;                           ///< Whether to turn the image as its EXIF data says.
  bool decoder_scale = true;                         ///< Whether a JPEG may be decoded at 1/2, 1/4 or 1/8 where
                                                     ///< `resize` makes the region that much smaller.
  JpegTransform dct = JpegTransform::accurate;       ///< fast: pixels of a JPEG differ by a few levels.
  std::int64_t max_image_pixels = 178'956'970;       ///< More pixels, of all frames, are a fault of the row.
  std::int64_t max_frames = 10'000;                  ///< More frames are a fault of the row.
};

}  // namespace forebay
