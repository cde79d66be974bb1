// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/batch.h>
#include <forebay/error.h>
#include <forebay/json.h>
#include <forebay/steps/decode_image.h>

namespace forebay {

/// Decodes one image file (JPEG, PNG, GIF, BMP, WebP) as the step `decode_image` does, and returns its pixels: height,
/// width, channels, or as `layout` and `frames` say. `tensor` and `out` of the options mean nothing here. Random
/// choices are those of record 0 in epoch 0 of a run with that seed.
///
/// Fails with Code::data when the bytes are no intact image; the message says what they are, as far as they tell. Fails
/// with Code::config when the options are wrong. Thread-safe.
[[nodiscard]] Result<Tensor> decode_image(std::span<const std::byte> file, const DecodeImage& options = {},
                                          std::uint64_t seed = 0);
/// The same with options as documents write them: an object without `tensor`.
[[nodiscard]] Result<Tensor> decode_image(std::span<const std::byte> file, const Json& options, std::uint64_t seed = 0);

/// The format that the first bytes of a file are of: "jpeg", "png", "gif", "bmp" or "webp". Fails with Code::data when
/// they are of none.
[[nodiscard]] Result<std::string> image_format(std::span<const std::byte> file);

}  // namespace forebay
