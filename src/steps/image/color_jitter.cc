// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/color_jitter.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/draw.h"
#include "columns/fill.h"
#include "steps/image/image_layout.h"
#include "steps/output.h"

namespace forebay::steps {
namespace {

constexpr std::int64_t pixels_a_jitter_look = 1 << 20;

/// The pixels of one image: channel c of pixel i is `i · pixel + c · channel`.
struct ImageSpan {
  std::int64_t pixels = 0, pixel = 1, channel = 1;
  int channels = 3;
};

/// What is changed, for one row. Values are shares of white, 0 to 1.
struct Changes {
  float brightness = 1, contrast = 1, saturation = 1;
  float hue = 0;        // shares of the circle
  float luminance = 0;  // the mean, after the change of brightness
};

using Color = std::array<float, 3>;

float limited(float value) { return std::clamp(value, 0.0F, 1.0F); }
float luminance_of(const Color& color) { return 0.299F * color[0] + 0.587F * color[1] + 0.114F * color[2]; }

void blend(Color& color, float other, float factor) {
  for (float& value : color) value = limited(value * factor + other * (1 - factor));
}

/// Turns a color around the circle of hues; its largest and smallest values stay.
void turn(Color& color, float share) {
  const float high = std::max({color[0], color[1], color[2]});
  const float range = high - std::min({color[0], color[1], color[2]});
  if (!(range > 0)) return;
  float sixth = 0;  // where the hue is, in sixths of the circle
  if (high == color[0]) {
    sixth = (color[1] - color[2]) / range;
  } else if (high == color[1]) {
    sixth = (color[2] - color[0]) / range + 2;
  } else {
    sixth = (color[0] - color[1]) / range + 4;
  }
  const float turned = sixth + share * 6;
  for (int c = 0; c < 3; ++c) {
    const float k = std::fmod(turned + static_cast<float>(5 - 2 * c) + 12, 6.0F);
    color[static_cast<std::size_t>(c)] = high - range * limited(std::min(k, 4 - k));
  }
}

void change(Color& color, const Changes& changes) {
  for (float& value : color) value = limited(value * changes.brightness);
  if (changes.contrast != 1) blend(color, changes.luminance, changes.contrast);
  if (changes.saturation != 1) blend(color, luminance_of(color), changes.saturation);
  if (changes.hue != 0) turn(color, changes.hue);
}

template <class Element>
Color color_at(const Element* in, const ImageSpan& image, float white) {
  const float first = static_cast<float>(*in) / white;
  if (image.channels == 1) return {first, first, first};
  return {first, static_cast<float>(in[image.channel]) / white, static_cast<float>(in[2 * image.channel]) / white};
}

template <class Element>
float mean_luminance(const Element* in, const ImageSpan& image, float white, float brightness) {
  double sum = 0;
  for (std::int64_t i = 0; i < image.pixels; ++i, in += image.pixel) {
    Color color = color_at(in, image, white);
    for (float& value : color) value = limited(value * brightness);
    sum += static_cast<double>(luminance_of(color));
  }
  return static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(1, image.pixels)));
}

template <class Element>
void change_image(const Element* in, Element* out, const ImageSpan& image, float white, Changes changes,
                  const StopCheck* stop) {
  if (changes.contrast != 1) changes.luminance = mean_luminance(in, image, white, changes.brightness);
  for (std::int64_t i = 0; i < image.pixels; ++i, in += image.pixel, out += image.pixel) {
    if (i % pixels_a_jitter_look == 0) StopCheck::look(stop);
    Color color = color_at(in, image, white);
    change(color, changes);
    for (int c = 0; c < image.channels; ++c) {
      const float value = color[static_cast<std::size_t>(c)] * white;
      out[c * image.channel] = static_cast<Element>(std::is_integral_v<Element> ? value + 0.5F : value);
    }
  }
}

/// Changes the colors of a column of images. Immutable: any number of workers call it at once.
class ColorChange final : public Step {
 public:
  ColorChange(ColorJitter options, ColumnId from, ColumnId to) : options_{std::move(options)}, from_{from}, to_{to} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(begin_output(out, in.shape, in.rows).at(Place{.feature = options_.tensor}));
    if (!in.fixed()) {
      columns::copy_rows(in, out);
      out.values.resize(in.values.size());
    }
    std::int64_t at = 0;
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const RowSizes sizes{in, row};
      const auto all = sizes.all();
      const bool together = options_.layout == ImageLayout::hwc;
      ImageSpan image;
      image.channels = static_cast<int>(together ? all[2] : all[0]);
      image.pixels = together ? all[0] * all[1] : all[1] * all[2];
      image.pixel = together ? image.channels : 1;
      image.channel = together ? 1 : image.pixels;
      const Changes changes = draw(context, row);
      if (in.dtype == DType::uint8) {
        change_image(in.values.as<std::uint8_t>() + at, out.values.as<std::uint8_t>() + at, image, 255, changes,
                     context.stop);
      } else {
        change_image(in.values.as<float>() + at, out.values.as<float>() + at, image, static_cast<float>(options_.max),
                     changes, context.stop);
      }
      at += image.pixels * image.channels;
    }
    return {};
  }

 private:
  [[nodiscard]] Changes draw(const StepContext& context, std::int64_t row) const {
    const auto between = [&](double low, double high, std::uint64_t purpose) {
      return low == high ? static_cast<float>(low)
                         : static_cast<float>(low + (high - low) * unit_of(context.draw(row, purpose)));
    };
    const auto factor = [&](double by, std::uint64_t purpose) {
      return between(by == 0 ? 1 : std::max(0.0, 1 - by), 1 + by, purpose);
    };
    return {.brightness = factor(options_.brightness, 0),
            .contrast = factor(options_.contrast, 1),
            .saturation = factor(options_.saturation, 2),
            .hue = between(-options_.hue, options_.hue, 3)};
  }

  const ColorJitter options_;
  const ColumnId from_, to_;
};

Result<void> check(const ColorJitter& options) {
  const std::array amounts{std::pair{"brightness", options.brightness}, std::pair{"contrast", options.contrast},
                           std::pair{"saturation", options.saturation}, std::pair{"hue", options.hue}};
  for (const auto& [name, amount] : amounts) {
    const double most = std::string_view{name} == "hue" ? 0.5 : 100;
    if (!(amount >= 0 && amount <= most))
      return refusal(fmt::format("must be from 0 to {}; found {}", most, amount)).at(Field{name});
  }
  if (!(options.max > 0) || !std::isfinite(options.max)) return refusal("must be above 0").at(Field{"max"});
  return {};
}

Result<Bound<Step>> bind(const ColorJitter& options, const Schema& in) {
  FOREBAY_DO(check(options));
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  const ColumnSpec spec = in[from];
  const bool numbers = spec.dtype == DType::uint8 || spec.dtype == DType::float32;
  const std::int64_t channels =
      spec.shape.rank() == 3 ? spec.shape[options.layout == ImageLayout::hwc ? 2 : 0] : unknown_dim;
  if (!numbers || (channels != 1 && channels != 3)) {
    return refusal(fmt::format("'{}' is {} of shape {}; images are uint8 or float32 with three axes, one of them of 1 "
                               "or 3 channels",
                               options.tensor, to_string(spec.dtype), spec.shape.text()))
        .at(Field{"tensor"});
  }
  if (channels == 1 && (options.saturation != 0 || options.hue != 0))
    return refusal("needs images of 3 channels").at(Field{options.hue != 0 ? "hue" : "saturation"});
  if (spec.dtype == DType::uint8 && options.max != 255) return refusal("is 255 of uint8").at(Field{"max"});
  Schema out = in;
  const ColumnId to = out.put(spec);
  const bool draws = options.brightness != 0 || options.contrast != 0 || options.saturation != 0 || options.hue != 0;
  return Bound<Step>{
      .op = std::make_unique<ColorChange>(options, from, to), .out = std::move(out), .reads = {from}, .draws = draws};
}

}  // namespace

StepType color_jitter() {
  return describe<StepType, ColorJitter>(
             "color_jitter", "Changes brightness, contrast, saturation and hue of images by random amounts.", bind)
      .required("tensor", &ColorJitter::tensor, "Images of 1 or 3 channels, uint8 or float32; they are replaced.")
      .field("brightness", &ColorJitter::brightness, "Values times a factor from 1 - brightness to 1 + brightness.")
      .field("contrast", &ColorJitter::contrast, "Distances from the image's mean luminance, times such a factor.")
      .field("saturation", &ColorJitter::saturation, "Distances from the pixel's luminance, times such a factor.")
      .field("hue", &ColorJitter::hue, "Turns colors around the circle by a share from -hue to hue; at most 0.5.")
      .field("max", &ColorJitter::max, "The value of white, to which floats are limited; of uint8 always 255.")
      .field("layout", &ColorJitter::layout, "hwc: height, width, channels; chw: channels first.")
      .example({.options = R"({"tensor": "x", "brightness": 0})",
                .in = R"({"x": [[[[10.0, 20.0, 30.0]]]]})",
                .out = R"({"x": [[[[10.0, 20.0, 30.0]]]]})"});
}

}  // namespace forebay::steps
