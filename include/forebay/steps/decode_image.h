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

enum class ImageFlip : std::uint8_t { none, random };
enum class ImageLayout : std::uint8_t { hwc, chw };

/// Decodes images (JPEG) to pixels. The region, the size and the flip are part of the same step, so that only the
/// region is decoded, at the scale that is needed, and no whole image lies in memory.
///
///     bytes ─► header ─► orientation ─► region ─► scale in the decoder ─► resize ─► flip ─► dtype, layout
///
/// `resize` is bilinear with antialias: output pixel i is the mean of the region's pixels, weighted by a triangle
/// around (i + 0.5) · s of half width max(s, 1), where s is the ratio of the sizes.
///
/// A row whose bytes are no intact JPEG is a fault of the row. Pixels are never scaled: they are 0 … 255 as floats,
/// too.
struct DecodeImage {
  TensorName tensor;                                      ///< Scalar strings: the bytes of a file each.
  std::optional<NewTensorName> out = {};                  ///< Name of the pixels. Empty: they replace `tensor`.
  std::int64_t channels = 3;                              ///< 1: luminance, 3: red, green and blue.
  ImageRegion region = {};                                ///< Of the image in the orientation in which it is shown.
  std::optional<std::vector<std::int64_t>> resize = {};   ///< [height, width]; empty: the size of the region.
  ImageFlip flip = ImageFlip::none;                       ///< random: every other row is mirrored left to right.
  DType dtype = DType::uint8;                             ///< uint8 (rounded) or float32.
  ImageLayout layout = ImageLayout::hwc;                  ///< Axes: height, width, channels, or channels first.
  bool orientation = true;                                ///< Whether to turn the image as its EXIF data says.
  bool scale = true;                                      ///< Whether the decoder may decode at 1/2, 1/4 or 1/8 where
                                                          ///< `resize` makes the region that much smaller.
  std::int64_t max_image_pixels = std::int64_t{1} << 27;  ///< Images of more pixels are a fault of the row.
};

}  // namespace forebay
