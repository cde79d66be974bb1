// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/field_types.h>
#include <forebay/steps/decode_image.h>

namespace forebay {

/// Changes the colors of each image by random amounts, drawn for each row: brightness, then contrast, saturation, hue.
/// Each of the first three has a factor from max(0, 1 - option) to 1 + option, uniform. After each change the values
/// are limited to 0 … `max`; integers are rounded once, at the end.
///
///     brightness   value · factor
///     contrast     blend of the value and the mean luminance of the image
///     saturation   blend of the value and the luminance of the pixel
///     hue          turns the color around the circle by a share from -hue to hue
///
/// A blend is value · factor + other · (1 - factor).
struct ColorJitter {
  TensorName tensor;  ///< Images of 1 or 3 channels, uint8 or float32; they are replaced.
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;                  ///< Of 3 channels only.
  double hue = 0;                         ///< At most 0.5, half the circle; of 3 channels only.
  double max = 255;                       ///< The value of white; of uint8 always 255.
  ImageLayout layout = ImageLayout::hwc;  ///< Axes: height, width, channels, or channels first.
};

}  // namespace forebay
