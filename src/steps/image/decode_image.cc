// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/decode_image.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "steps/image/jpeg_reader.h"
#include "steps/image/region.h"
#include "steps/image/resample.h"
#include "steps/output.h"
#include "steps/rules.h"

namespace forebay {

template <>
struct EnumNames<ImageFlip> {
  static constexpr std::array<std::string_view, 2> names{"none", "random"};
};
template <>
struct EnumNames<ImageLayout> {
  static constexpr std::array<std::string_view, 2> names{"hwc", "chw"};
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

namespace steps {
namespace {

/// The worked example: a JPEG of two pixels.
constexpr std::string_view two_pixels =
    "/9j/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/wAALCAAB"
    "AAIBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACP/EABsQAAAHAQAAAAAAAAAAAAAAAAACBAYHN3W0/9oACAEBAAA/AEdC9OsTBQc5B//Z";
constexpr std::uint64_t flip_draw = 63;  // the region draws numbers below
constexpr std::int64_t max_side = 65535;
constexpr std::int64_t rows_a_look = 64;

/// What one worker keeps: the JPEG library's decoder and the sums of the resize.
class ImageMemory final : public StepMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const override { return resampler.bytes(); }

  JpegReader reader;
  AxisWeights rows, columns;
  Resampler resampler;
};

/// Decodes a column of files to pixels. The plan owns the step. It is immutable: any number of workers call it at once.
class ImageDecoding final : public Step {
 public:
  ImageDecoding(DecodeImage options, ColumnId from, ColumnId to) : options_{std::move(options)}, from_{from}, to_{to} {}

  [[nodiscard]] std::unique_ptr<StepMemory> memory() const override { return std::make_unique<ImageMemory>(); }

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory* kept) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = options_.tensor}));
    auto& memory = static_cast<ImageMemory&>(*kept);
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const std::size_t before = out.fixed() ? 0 : out.values.size();
      const auto done = decode(in.string(row), row, out, context, memory);
      if (done.ok()) continue;
      memory.reader.close();
      const Error fault = done.error().at(Place{.feature = options_.tensor, .row = row});
      if (context.faults == nullptr || fault.detail() == Detail::resource_exhausted) return fault;
      context.faults->add(row, fault);
      make_blank(row, before, out);
    }
    return {};
  }

 private:
  /// The image of one row, and where its pixels go.
  struct Work {
    PixelArea area;                      // of the stored image
    Orientation turned;                  // stored to shown
    std::int64_t width = 0, height = 0;  // of the result, as it is shown
  };

  Result<void> decode(std::span<const std::byte> bytes, std::int64_t row, Column& out, const StepContext& context,
                      ImageMemory& memory) const {
    FOREBAY_TRY(const JpegReader::Header header, memory.reader.open(bytes, context.stop));
    FOREBAY_DO(check_size(header));
    const Work work = plan(header, row, context);
    Orientation shown = work.turned;
    if (options_.flip == ImageFlip::random && (context.draw(row, flip_draw) & 1) != 0) shown.mirror_x ^= true;
    std::shared_ptr<void> charge;
    FOREBAY_TRY(std::byte* const elements, room(work, row, out, context, memory, charge));
    const PixelTarget target =
        shown.target(elements, out.dtype, options_.layout, work.width, work.height, options_.channels);
    FOREBAY_DO(options_.resize ? resize(header, work, target, context, memory) : copy(work, target, context, memory));
    memory.reader.close();
    if (out.fixed()) return {};
    out.end_row(std::array<std::int64_t, 2>{work.height, work.width});
    return {};
  }

  [[nodiscard]] Result<void> check_size(const JpegReader::Header& header) const {
    if (header.width <= options_.max_image_pixels / std::max<std::int64_t>(1, header.height)) return {};
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("an image of {} x {} pixels has more than max_image_pixels, {}", header.width,
                             header.height, options_.max_image_pixels)};
  }

  [[nodiscard]] Work plan(const JpegReader::Header& header, std::int64_t row, const StepContext& context) const {
    Work out{.area = {}, .turned = Orientation::of_exif(options_.orientation ? header.orientation : 1)};
    const std::int64_t width = out.turned.swap ? header.height : header.width;
    const std::int64_t height = out.turned.swap ? header.width : header.height;
    const PixelArea shown = choose_region(options_.region, width, height,
                                          [&](std::uint64_t purpose) { return context.draw(row, purpose); });
    out.area = out.turned.stored(shown, width, height);
    out.height = options_.resize ? (*options_.resize)[0] : shown.height;
    out.width = options_.resize ? (*options_.resize)[1] : shown.width;
    return out;
  }

  /// Asks the budget for what the row needs, and makes room for its pixels.
  Result<std::byte*> room(const Work& work, std::int64_t row, Column& out, const StepContext& context,
                          ImageMemory& memory, std::shared_ptr<void>& charge) const {
    const auto size = static_cast<std::int64_t>(size_of(out.dtype));
    const std::int64_t pixels = work.width * work.height * options_.channels * size;
    const std::int64_t needed = memory.reader.memory_needed() + (out.fixed() ? 0 : pixels);
    if (context.budget != nullptr) {
      FOREBAY_TRY(charge, context.budget->charge(needed));
    }
    if (out.fixed()) return out.values.data() + static_cast<std::size_t>(row) * out.row_bytes();
    return out.values.extend(static_cast<std::size_t>(pixels));
  }

  /// Without a resize: the pixels of the area as they are.
  Result<void> copy(const Work& work, const PixelTarget& target, const StepContext& context,
                    ImageMemory& memory) const {
    const int channels = static_cast<int>(options_.channels);
    FOREBAY_DO(memory.reader.begin(channels, 8, work.area));
    for (std::int64_t y = 0; y < work.area.height; ++y) {
      if (y % rows_a_look == 0) StopCheck::look(context.stop);
      FOREBAY_TRY(const std::uint8_t* const pixels, memory.reader.row());
      copy_pixels(pixels, work.area.width, channels, y, target);
    }
    return {};
  }

  Result<void> resize(const JpegReader::Header& header, const Work& work, const PixelTarget& target,
                      const StepContext& context, ImageMemory& memory) const {
    const std::int64_t columns = work.turned.swap ? work.height : work.width;  // of the stored image
    const std::int64_t rows = work.turned.swap ? work.width : work.height;
    const int eighths = scale_for(work.area, columns, rows);
    const auto scaled = [&](std::int64_t size) { return static_cast<double>(size * eighths) / 8; };
    const auto first = [&](std::int64_t at) { return at * eighths / 8; };
    const auto end = [&](std::int64_t at, std::int64_t size) { return (std::min(at, size) * eighths + 7) / 8; };
    PixelArea area{.x = first(work.area.x), .y = first(work.area.y)};
    area.width = end(work.area.x + work.area.width, header.width) - area.x;
    area.height = end(work.area.y + work.area.height, header.height) - area.y;
    memory.columns.set(area.width, scaled(work.area.x) - static_cast<double>(area.x), scaled(work.area.width), columns);
    memory.rows.set(area.height, scaled(work.area.y) - static_cast<double>(area.y), scaled(work.area.height), rows);
    const int channels = static_cast<int>(options_.channels);
    FOREBAY_DO(memory.reader.begin(channels, eighths, area));
    memory.resampler.begin(memory.rows, memory.columns, area.width, channels, target);
    for (std::int64_t y = 0; y < area.height; ++y) {
      if (y % rows_a_look == 0) StopCheck::look(context.stop);
      FOREBAY_TRY(const std::uint8_t* const pixels, memory.reader.row());
      memory.resampler.add(pixels);
    }
    return {};
  }

  /// The smallest scale of the decoder that leaves the area at least as large as the result.
  [[nodiscard]] int scale_for(const PixelArea& area, std::int64_t columns, std::int64_t rows) const {
    for (const int eighths : {1, 2, 4}) {
      if (options_.scale && area.width * eighths >= columns * 8 && area.height * eighths >= rows * 8) return eighths;
    }
    return 8;
  }

  static void make_blank(std::int64_t row, std::size_t before, Column& out) {
    if (!out.fixed()) {
      out.values.resize(before);
      return out.end_row(std::array<std::int64_t, 2>{0, 0});
    }
    std::memset(out.values.data() + static_cast<std::size_t>(row) * out.row_bytes(), 0, out.row_bytes());
  }

  const DecodeImage options_;
  const ColumnId from_, to_;
};

Result<void> check_pair(const std::vector<double>& pair, double max, const char* option) {
  const bool good = pair.size() == 2 && pair[0] > 0 && pair[0] <= pair[1] && pair[1] <= max;
  if (good) return {};
  return refusal(fmt::format("must be two numbers, the smallest and the largest, from above 0 to {}", max))
      .at(Field{"region", "random_resized", option});
}

Result<void> check(const DecodeImage& options) {
  if (options.channels != 1 && options.channels != 3)
    return refusal(fmt::format("must be 1 or 3; found {}", options.channels)).at(Field{"channels"});
  if (options.dtype != DType::uint8 && options.dtype != DType::float32)
    return refusal(fmt::format("pixels are uint8 or float32, not {}", to_string(options.dtype))).at(Field{"dtype"});
  const ImageRegion& region = options.region;
  if (region.central && region.random_resized)
    return refusal("is either central or random_resized, not both").at(Field{"region"});
  if (region.central && !(region.central->size > 0))
    return refusal("must be more than 0").at(Field{"region", "central", "size"});
  if (region.random_resized) {
    FOREBAY_DO(check_pair(region.random_resized->scale, 1, "scale"));
    FOREBAY_DO(check_pair(region.random_resized->ratio, 1000, "ratio"));
  }
  if (!options.resize) return {};
  const auto& size = *options.resize;
  if (size.size() != 2 || std::ranges::any_of(size, [](std::int64_t side) { return side < 1 || side > max_side; })) {
    return refusal(fmt::format("must be [height, width], each from 1 to {}", max_side)).at(Field{"resize"});
  }
  if (size[0] * size[1] * options.channels > max_elements)
    return refusal(fmt::format("an image has at most {} elements", max_elements)).at(Field{"resize"});
  return {};
}

Shape shape_of(const DecodeImage& options) {
  const std::int64_t height = options.resize ? (*options.resize)[0] : unknown_dim;
  const std::int64_t width = options.resize ? (*options.resize)[1] : unknown_dim;
  if (options.layout == ImageLayout::hwc) return Shape{height, width, options.channels};
  return Shape{options.channels, height, width};
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
      out.put({.name = options.out.value_or(options.tensor), .dtype = options.dtype, .shape = shape_of(options)});
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
  return check(read);
}

}  // namespace

StepType decode_image() {
  StepType type =
      describe<StepType, DecodeImage>(
          "decode_image", "Decodes images (JPEG) to pixels: orientation, region, scale, resize and flip in one step.",
          bind)
          .required("tensor", &DecodeImage::tensor, "Scalar strings: the bytes of an image file each.")
          .field("out", &DecodeImage::out, "Name of the pixels; null: they replace the tensor.")
          .field("channels", &DecodeImage::channels, "1: luminance; 3: red, green and blue.")
          .field("region", &DecodeImage::region, "The part that is decoded; left out: the whole image.")
          .field("resize", &DecodeImage::resize,
                 "[height, width], bilinear with antialias; null: the size of the region.")
          .field("flip", &DecodeImage::flip, "random: every other row, by a draw, is mirrored left to right.")
          .field("dtype", &DecodeImage::dtype, "uint8 or float32; pixels are 0 to 255 in both.")
          .field("layout", &DecodeImage::layout, "hwc: height, width, channels; chw: channels first.")
          .field("orientation", &DecodeImage::orientation, "Whether to turn images as their EXIF data says.")
          .field("scale", &DecodeImage::scale,
                 "Whether to decode at 1/2, 1/4 or 1/8 of the size where `resize` makes the region that much smaller.")
          .field("max_image_pixels", &DecodeImage::max_image_pixels, "An image of more pixels is a corrupt row.",
                 {.min = 1, .max = std::int64_t{1} << 32})
          .example({.options = R"({"tensor": "image", "channels": 1})",
                    .in = R"({"image": ["base64:)" + std::string{two_pixels} + R"("]})",
                    .out = R"({"image": [[[[50], [200]]]]})"});
  return with_rules(std::move(type), check_options);
}

}  // namespace steps
}  // namespace forebay
