// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/decode_image.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "steps/image/image_decoding.h"
#include "steps/image/image_layout.h"
#include "steps/output.h"
#include "steps/rules.h"

namespace forebay {

template <>
struct EnumNames<ImageFileFormat> {
  static constexpr std::array<std::string_view, 5> names{"jpeg", "png", "gif", "bmp", "webp"};
};
template <>
struct EnumNames<ImageFlip> {
  static constexpr std::array<std::string_view, 2> names{"none", "random"};
};
template <>
struct EnumNames<ImageFrames> {
  static constexpr std::array<std::string_view, 2> names{"first", "all"};
};
template <>
struct EnumNames<ImageScale> {
  static constexpr std::array<std::string_view, 2> names{"none", "unit"};
};
template <>
struct EnumNames<JpegTransform> {
  static constexpr std::array<std::string_view, 2> names{"accurate", "fast"};
};
template <>
struct EnumNames<ResizeMethod> {
  static constexpr std::array<std::string_view, 5> names{"antialias_bilinear", "antialias_bicubic", "bilinear", "area",
                                                         "nearest"};
};

template <>
struct FieldsOf<CentralRegion> {
  static const Fields<CentralRegion>& get() {
    static const Fields<CentralRegion> fields = Fields<CentralRegion>{}.field(
        "size", &CentralRegion::size, "Side of the square as a share of the shorter side.", {.min = 0, .max = 1});
    return fields;
  }
};

template <>
struct FieldsOf<RandomResizedRegion> {
  static const Fields<RandomResizedRegion>& get() {
    static const Fields<RandomResizedRegion> fields =
        Fields<RandomResizedRegion>{}
            .field("scale", &RandomResizedRegion::scale, "Smallest and largest share of the image's area.")
            .field("ratio", &RandomResizedRegion::ratio, "Smallest and largest width ÷ height.");
    return fields;
  }
};

template <>
struct FieldsOf<ImageRegion> {
  static const Fields<ImageRegion>& get() {
    static const Fields<ImageRegion> fields =
        Fields<ImageRegion>{}
            .field("central", &ImageRegion::central, "The square in the middle.")
            .field("random_resized", &ImageRegion::random_resized, "A random rectangle, for training.");
    return fields;
  }
};

template <>
struct FieldsOf<ImageNormalization> {
  static const Fields<ImageNormalization>& get() {
    static const Fields<ImageNormalization> fields =
        Fields<ImageNormalization>{}
            .field("mean", &ImageNormalization::mean, "Subtracted: one number, or one for each channel.")
            .field("std", &ImageNormalization::std, "Divided by: one number, or one for each channel.");
    return fields;
  }
};

namespace steps {
namespace {

/// The worked example: a JPEG of two pixels.
constexpr std::string_view two_pixels =
    "/9j/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/wAALCAAB"
    "AAIBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACP/EABsQAAAHAQAAAAAAAAAAAAAAAAACBAYHN3W0/9oACAEBAAA/AEdC9OsTBQc5B//Z";
constexpr std::int64_t max_side = 65535;

Result<void> check_pair(const std::vector<double>& pair, double max, const char* option) {
  const bool good = pair.size() == 2 && pair[0] > 0 && pair[0] <= pair[1] && pair[1] <= max;
  if (good) return {};
  return refusal(fmt::format("must be two numbers, the smallest and the largest, from above 0 to {}", max))
      .at(Field{"region", "random_resized", option});
}

Result<void> check_normalization(const DecodeImage& options) {
  if (options.dtype != DType::float32)
    return refusal("makes fractions, so dtype must be float32").at(Field{"normalize"});
  const auto good = [&](const std::vector<double>& values) {
    const bool each = options.channels != 0 && static_cast<std::int64_t>(values.size()) == options.channels;
    return values.size() == 1 || each;
  };
  for (const auto& [name, values] : {std::pair{"mean", &options.normalize->mean}, {"std", &options.normalize->std}}) {
    if (!good(*values)) return refusal("must be one number, or one for each channel").at(Field{"normalize", name});
    if (!std::ranges::all_of(*values, [](double value) { return std::isfinite(value); }))
      return refusal("must be finite").at(Field{"normalize", name});
  }
  if (std::ranges::any_of(options.normalize->std, [](double value) { return !(value > 0); }))
    return refusal("must be above 0").at(Field{"normalize", "std"});
  return {};
}

Result<void> check_sizes(const std::optional<std::vector<std::int64_t>>& sizes, std::int64_t channels) {
  if (!sizes) return {};
  const auto outside = [](std::int64_t side) { return side < 1 || side > max_side; };
  if (sizes->size() != 2 || std::ranges::any_of(*sizes, outside))
    return refusal(fmt::format("must be [height, width], each from 1 to {}", max_side));
  if ((*sizes)[0] * (*sizes)[1] * std::max<std::int64_t>(channels, 1) > max_elements)
    return refusal(fmt::format("an image has at most {} elements", max_elements));
  return {};
}

Result<void> check(const DecodeImage& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 && options.channels != 4)
    return refusal(fmt::format("must be 0, 1, 3 or 4; found {}", options.channels)).at(Field{"channels"});
  const bool floats = options.dtype == DType::float32;
  if (!floats && options.dtype != DType::uint8 && options.dtype != DType::uint16)
    return refusal(fmt::format("pixels are uint8, uint16 or float32, not {}", to_string(options.dtype)))
        .at(Field{"dtype"});
  if (options.scale == ImageScale::unit && !floats)
    return refusal("unit makes numbers from 0 to 1, so dtype must be float32").at(Field{"scale"});
  if (options.normalize) FOREBAY_DO(check_normalization(options));
  const ImageRegion& region = options.region;
  if (region.central && region.random_resized)
    return refusal("is either central or random_resized, not both").at(Field{"region"});
  if (region.central && !(region.central->size > 0))
    return refusal("must be more than 0").at(Field{"region", "central", "size"});
  if (region.random_resized) {
    FOREBAY_DO(check_pair(region.random_resized->scale, 1, "scale"));
    FOREBAY_DO(check_pair(region.random_resized->ratio, 1000, "ratio"));
  }
  if (options.size && (options.resize || region.central || region.random_resized))
    return refusal("is the size of whole images: neither a region nor resize may be given").at(Field{"size"});
  FOREBAY_DO(check_sizes(options.resize, options.channels).at(Field{"resize"}));
  return check_sizes(options.size, options.channels).at(Field{"size"});
}

Result<Bound<Step>> bind(const DecodeImage& options, const Schema& in) {
  FOREBAY_DO(check(options));
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  if (in[from].dtype != DType::string || in[from].shape.rank() != 0) {
    return refusal(fmt::format("'{}' is {} of shape {}; images are decoded from one string for each row, the bytes of "
                               "a file",
                               options.tensor, to_string(in[from].dtype), in[from].shape.text()))
        .at(Field{"tensor"});
  }
  if (options.out) FOREBAY_DO(check_new_name(*options.out, in).at(Field{"out"}));
  Schema out = in;
  const ColumnId to =
      out.put({.name = options.out.value_or(options.tensor), .dtype = options.dtype, .shape = image_shape(options)});
  return Bound<Step>{.op = std::make_unique<ImageDecoding>(options, from, to),
                     .out = std::move(out),
                     .reads = {from},
                     .draws = options.region.random_resized.has_value() || options.flip == ImageFlip::random,
                     .expensive = true};
}

Result<void> check_options(const Json& options) {
  std::vector<Error> none;  // faults of the types are already reported
  DecodeImage read;
  const auto take = [&]<class T>(const char* name, T& member) {
    const Json* const value = options.find(name);
    if (value == nullptr) return;
    if (auto found = JsonCodec<T>::read(*value, none)) member = *std::move(found);
  };
  take("channels", read.channels);
  take("dtype", read.dtype);
  take("region", read.region);
  take("resize", read.resize);
  take("size", read.size);
  take("scale", read.scale);
  take("normalize", read.normalize);
  return check(read);
}

}  // namespace

StepType decode_image() {
  StepType type =
      describe<StepType, DecodeImage>(
          "decode_image",
          "Decodes images (JPEG, PNG, GIF, BMP, WebP) to pixels: orientation, region, resize and flip in one step.",
          bind)
          .required("tensor", &DecodeImage::tensor, "Scalar strings: the bytes of an image file each.")
          .field("out", &DecodeImage::out, "Name of the pixels; null: they replace the tensor.")
          .field("format", &DecodeImage::format,
                 "What the images should be: the first one of another format is told, and decoded as what it is.")
          .field("channels", &DecodeImage::channels,
                 "1: luminance; 3: red, green and blue; 4: and alpha; 0: as each image is stored.")
          .field("frames", &DecodeImage::frames, "Of GIF and WebP animations; all: an axis of frames comes first.")
          .field("region", &DecodeImage::region, "The part that is decoded; left out: the whole image.")
          .field("resize", &DecodeImage::resize, "[height, width]; null: the size of the region.")
          .field("size", &DecodeImage::size,
                 "[height, width] that every image has; another one is a corrupt row. Makes the shape a fixed one.")
          .field("method", &DecodeImage::method, "How `resize` makes pixels.")
          .field("flip", &DecodeImage::flip, "random: every other row, by a draw, is mirrored left to right.")
          .field("dtype", &DecodeImage::dtype,
                 "uint8, uint16 or float32; the latter two keep the 16 bits of a PNG that has them.")
          .field("scale", &DecodeImage::scale, "none: values as stored, 0 to 255 or 65535; unit: floats from 0 to 1.")
          .field("normalize", &DecodeImage::normalize, "Subtracts a mean and divides by a deviation, after `scale`.")
          .field("layout", &DecodeImage::layout, "hwc: height, width, channels; chw: channels first.")
          .field("orientation", &DecodeImage::orientation, "Whether to turn images as their EXIF data says.")
          .field("decoder_scale", &DecodeImage::decoder_scale,
                 "Whether to decode JPEGs at 1/2, 1/4 or 1/8 of the size where `resize` makes the region that much "
                 "smaller.")
          .field("dct", &DecodeImage::dct, "Of JPEGs; fast: a few levels less exact, as TensorFlow decodes them.")
          .field("max_image_pixels", &DecodeImage::max_image_pixels, "An image of more pixels is a corrupt row.",
                 {.min = 1, .max = std::int64_t{1} << 32})
          .field("max_frames", &DecodeImage::max_frames, "An image of more frames is a corrupt row.",
                 {.min = 1, .max = 1'000'000})
          .example({.options = R"({"tensor": "image", "channels": 1})",
                    .in = R"({"image": ["base64:)" + std::string{two_pixels} + R"("]})",
                    .out = R"({"image": [[[[50], [200]]]]})"});
  return with_rules(std::move(type), check_options);
}

}  // namespace steps
}  // namespace forebay
