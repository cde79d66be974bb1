// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <forebay/steps/decode_image.h>

#include "steps/image/formats/image_reader.h"
#include "steps/image/resample.h"

namespace forebay::steps {

/// Chooses the region of an image of that size. `draw` gives 64 uniform bits for a number below 64.
[[nodiscard]] PixelArea choose_region(const ImageRegion& region, std::int64_t width, std::int64_t height,
                                      const std::function<std::uint64_t(std::uint64_t)>& draw);

/// How stored pixels become shown ones: exchange x and y, then mirror each axis.
struct Orientation {
  bool swap = false, mirror_x = false, mirror_y = false;

  [[nodiscard]] static Orientation of_exif(int number);
  /// The stored area of an area of the shown image, whose size is `width` × `height`.
  [[nodiscard]] PixelArea stored(const PixelArea& shown, std::int64_t width, std::int64_t height) const;
  /// Where stored pixels go in an array of `width` × `height` shown pixels. `channel_step` and the like are those of
  /// `layout`.
  [[nodiscard]] PixelTarget target(std::byte* elements, DType dtype, ImageLayout layout, std::int64_t width,
                                   std::int64_t height, std::int64_t channels) const;
};

}  // namespace forebay::steps
