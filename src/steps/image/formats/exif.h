// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace forebay::steps {

/// The orientation in EXIF data, a TIFF file: 1 … 8; 1 when there is none that can be read.
[[nodiscard]] int orientation_in(std::span<const std::byte> exif);

/// The orientation in the EXIF data of a JPEG: 1 … 8; 1 when there is none that can be read.
[[nodiscard]] int exif_orientation(std::span<const std::byte> jpeg);

}  // namespace forebay::steps
