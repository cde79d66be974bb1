// SPDX-License-Identifier: Apache-2.0
#include "steps/image/region.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <forebay/row_identity.h>

#include "base/draw.h"

namespace forebay::steps {

namespace {

constexpr std::uint64_t tries = 10;
constexpr std::uint64_t draws_a_try = 4;

PixelArea central(std::int64_t width, std::int64_t height, std::int64_t of_width, std::int64_t of_height) {
  return {.x = (of_width - width) / 2, .y = (of_height - height) / 2, .width = width, .height = height};
}

std::int64_t rounded(double size) { return static_cast<std::int64_t>(std::floor(size + 0.5)); }

PixelArea random_resized(const RandomResizedRegion& options, std::int64_t width, std::int64_t height,
                         const std::function<std::uint64_t(std::uint64_t)>& draw) {
  const double area = static_cast<double>(width) * static_cast<double>(height);
  const auto between = [](double low, double high, double unit) { return low + (high - low) * unit; };
  const double low = std::log(options.ratio[0]);
  const double high = std::log(options.ratio[1]);
  for (std::uint64_t i = 0; i < tries; ++i) {
    const std::uint64_t at = i * draws_a_try;
    const double wanted = area * between(options.scale[0], options.scale[1], unit_of(draw(at)));
    const double ratio = std::exp(between(low, high, unit_of(draw(at + 1))));
    const std::int64_t w = rounded(std::sqrt(wanted * ratio));
    const std::int64_t h = rounded(std::sqrt(wanted / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {.x = static_cast<std::int64_t>(below(draw(at + 2), static_cast<std::uint64_t>(width - w + 1))),
            .y = static_cast<std::int64_t>(below(draw(at + 3), static_cast<std::uint64_t>(height - h + 1))),
            .width = w,
            .height = h};
  }
  const double ratio =
      std::clamp(static_cast<double>(width) / static_cast<double>(height), options.ratio[0], options.ratio[1]);
  const std::int64_t w = std::clamp<std::int64_t>(rounded(static_cast<double>(height) * ratio), 1, width);
  const std::int64_t h = std::clamp<std::int64_t>(rounded(static_cast<double>(width) / ratio), 1, height);
  return central(w, h, width, height);
}

}  // namespace

PixelArea choose_region(const ImageRegion& region, std::int64_t width, std::int64_t height,
                        const std::function<std::uint64_t(std::uint64_t)>& draw) {
  if (region.random_resized) return random_resized(*region.random_resized, width, height, draw);
  if (!region.central) return {.x = 0, .y = 0, .width = width, .height = height};
  const std::int64_t shorter = std::min(width, height);
  const std::int64_t side =
      std::clamp<std::int64_t>(rounded(region.central->size * static_cast<double>(shorter)), 1, shorter);
  return central(side, side, width, height);
}

Orientation Orientation::of_exif(int number) {
  return {.swap = number >= 5,
          .mirror_x = number == 2 || number == 3 || number == 6 || number == 7,
          .mirror_y = number == 3 || number == 4 || number == 7 || number == 8};
}

PixelArea Orientation::stored(const PixelArea& shown, std::int64_t width, std::int64_t height) const {
  PixelArea out = shown;
  if (mirror_x) out.x = width - shown.x - shown.width;
  if (mirror_y) out.y = height - shown.y - shown.height;
  if (!swap) return out;
  std::swap(out.x, out.y);
  std::swap(out.width, out.height);
  return out;
}

PixelTarget Orientation::target(std::byte* elements, DType dtype, ImageLayout layout, std::int64_t width,
                                std::int64_t height, std::int64_t channels) const {
  const bool together = layout == ImageLayout::hwc;
  std::int64_t x = together ? channels : 1;
  std::int64_t y = x * width;
  PixelTarget out{.elements = elements, .dtype = dtype, .channel = together ? 1 : width * height};
  if (mirror_x) out.first += (width - 1) * std::exchange(x, -x);
  if (mirror_y) out.first += (height - 1) * std::exchange(y, -y);
  out.column = swap ? y : x;
  out.row = swap ? x : y;
  return out;
}

}  // namespace forebay::steps
