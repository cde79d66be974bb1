// SPDX-License-Identifier: Apache-2.0
#include "steps/image/image_decoding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "steps/output.h"

namespace forebay::steps {

namespace {

constexpr std::uint64_t flip_draw = 63;  // the region draws numbers below
constexpr std::int64_t rows_a_look = 64;

}  // namespace

ImageReader& ImageMemory::reader_of(ImageFormat format) {
  auto& reader = readers_[static_cast<std::size_t>(format)];
  if (reader == nullptr) reader = make_image_reader(format);
  return *reader;
}

Shape image_shape(const DecodeImage& options) {
  const auto& known = options.resize ? options.resize : options.size;
  const std::int64_t height = known ? (*known)[0] : unknown_dim;
  const std::int64_t width = known ? (*known)[1] : unknown_dim;
  const std::int64_t channels = options.channels == 0 ? unknown_dim : options.channels;
  std::vector<std::int64_t> dims;
  if (options.frames == ImageFrames::all) dims.push_back(unknown_dim);
  if (options.layout == ImageLayout::chw) dims.push_back(channels);
  dims.push_back(height);
  dims.push_back(width);
  if (options.layout == ImageLayout::hwc) dims.push_back(channels);
  return Shape{std::move(dims)};
}

/// The image of one row, and where its pixels go.
struct ImageDecoding::Work {
  ImageHeader header;
  PixelArea area;                      // of the stored image
  Orientation turned;                  // stored to shown
  std::int64_t width = 0, height = 0;  // of the result, as it is shown
  int channels = 3;
  bool wide = false;  // rows have 16 bits for each channel
};

Result<void> ImageDecoding::apply(ColumnBlock& block, const StepContext& context, StepMemory* kept) const {
  const Column& in = block[from_];
  Column& out = block[to_];
  FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = options_.tensor}));
  auto& memory = static_cast<ImageMemory&>(*kept);
  for (std::int64_t row = 0; row < in.rows; ++row) {
    const std::size_t before = out.fixed() ? 0 : out.values.size();
    const auto done = [&]() -> Result<void> {
      FOREBAY_TRY(const ImageFormat format, format_of(in.string(row)));
      check_format(format, row, context);
      ImageReader& reader = memory.reader_of(format);
      const auto decoded = decode(reader, in.string(row), row, out, context, memory);
      reader.close();
      return decoded;
    }();
    if (done.ok()) continue;
    const Error fault = done.error().at(Place{.feature = options_.tensor, .row = row});
    if (context.faults == nullptr || fault.detail() == Detail::resource_exhausted) return fault;
    context.faults->add(row, fault);
    make_blank(row, before, out);
  }
  return {};
}

Result<void> ImageDecoding::decode(ImageReader& reader, std::span<const std::byte> bytes, std::int64_t row, Column& out,
                                   const StepContext& context, ImageMemory& memory) const {
  const FrameLimit frames{.all = options_.frames == ImageFrames::all, .max = options_.max_frames};
  FOREBAY_TRY(const ImageHeader header, reader.open(bytes, frames, context.stop));
  FOREBAY_DO(check_size(header));
  const Work work = plan(header, row, context);
  if (options_.size && (*options_.size != std::vector{work.height, work.width})) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("an image of {} x {} pixels (height x width) where all should have {} x {}", work.height,
                             work.width, (*options_.size)[0], (*options_.size)[1])};
  }
  Orientation shown = work.turned;
  if (options_.flip == ImageFlip::random && (context.draw(row, flip_draw) & 1) != 0) shown.mirror_x ^= true;
  std::shared_ptr<void> charge;
  FOREBAY_TRY(std::byte* const elements, room(work, row, out, context, charge));
  PixelTarget target = shown.target(elements, out.dtype, options_.layout, work.width, work.height, work.channels);
  target.values = values(work);
  FOREBAY_DO(options_.resize ? resize(reader, work, target, context.stop, memory)
                             : copy(reader, work, target, context.stop));
  if (!out.fixed()) end_row(work, out);
  return {};
}

void ImageDecoding::check_format(ImageFormat found, std::int64_t row, const StepContext& context) const {
  if (!options_.format || *options_.format == found || context.notes == nullptr) return;
  context.notes->add(row, fmt::format("`format` is {}, and the bytes of '{}' are {}; they are decoded as that",
                                      to_string(*options_.format), options_.tensor, to_string(found)));
}

Result<void> ImageDecoding::check_size(const ImageHeader& header) const {
  if (header.frames > options_.max_frames) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("an image has more than max_frames, {}", options_.max_frames)};
  }
  const std::int64_t row = std::max<std::int64_t>(1, header.height) * header.frames;  // below 2^45
  if (header.width <= options_.max_image_pixels / row) return {};
  const std::string frames = header.frames > 1 ? fmt::format(" in {} frames", header.frames) : "";
  return Error{Code::data, Detail::invalid_argument,
               fmt::format("an image of {} x {} pixels{} has more than max_image_pixels, {}", header.width,
                           header.height, frames, options_.max_image_pixels)};
}

ImageDecoding::Work ImageDecoding::plan(const ImageHeader& header, std::int64_t row, const StepContext& context) const {
  Work out{.header = header, .area = {}, .turned = Orientation::of_exif(options_.orientation ? header.orientation : 1)};
  const std::int64_t width = out.turned.swap ? header.height : header.width;
  const std::int64_t height = out.turned.swap ? header.width : header.height;
  const PixelArea shown =
      choose_region(options_.region, width, height, [&](std::uint64_t purpose) { return context.draw(row, purpose); });
  out.area = out.turned.stored(shown, width, height);
  out.height = options_.resize ? (*options_.resize)[0] : shown.height;
  out.width = options_.resize ? (*options_.resize)[1] : shown.width;
  out.channels = options_.channels == 0 ? header.channels : static_cast<int>(options_.channels);
  out.wide = header.wide && options_.dtype != DType::uint8;
  return out;
}

/// Asks the budget for what the row needs, and makes room for its pixels.
Result<std::byte*> ImageDecoding::room(const Work& work, std::int64_t row, Column& out, const StepContext& context,
                                       std::shared_ptr<void>& charge) const {
  const std::int64_t frame = work.width * work.height * work.channels;  // each size is below 2^31, the product too
  if (frame > max_elements / work.header.frames) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("{} frames of {} elements are more than {}", work.header.frames, frame, max_elements)};
  }
  const std::int64_t pixels = work.header.frames * frame * static_cast<std::int64_t>(size_of(out.dtype));
  if (context.budget != nullptr) {
    FOREBAY_TRY(charge, context.budget->charge(work.header.memory + (out.fixed() ? 0 : pixels)));
  }
  if (out.fixed()) return out.values.data() + static_cast<std::size_t>(row) * out.row_bytes();
  return out.values.extend(static_cast<std::size_t>(pixels));
}

/// value · factor + offset is (value · scale - mean) / std.
PixelValues ImageDecoding::values(const Work& work) const {
  PixelValues out;
  const double scale = options_.scale == ImageScale::unit ? 1.0 / (work.wide ? 65535 : 255) : 1;
  for (std::size_t c = 0; c < out.factor.size(); ++c) {
    double mean = 0, deviation = 1;
    if (options_.normalize) {
      const auto& means = options_.normalize->mean;
      const auto& deviations = options_.normalize->std;
      mean = means[std::min(c, means.size() - 1)];
      deviation = deviations[std::min(c, deviations.size() - 1)];
    }
    out.factor[c] = static_cast<float>(scale / deviation);
    out.offset[c] = static_cast<float>(-mean / deviation);
  }
  out.plain = options_.scale == ImageScale::none && !options_.normalize;
  return out;
}

namespace {

/// The target of another frame: `elements` elements further on.
PixelTarget moved(PixelTarget target, std::int64_t elements) {
  target.first += elements;
  return target;
}

}  // namespace

/// Without a resize: the pixels of the area as they are.
Result<void> ImageDecoding::copy(ImageReader& reader, const Work& work, const PixelTarget& target,
                                 const StopCheck* stop) const {
  const bool fast_dct = options_.dct == JpegTransform::fast;
  FOREBAY_DO(reader.begin({.channels = work.channels, .wide = work.wide, .area = work.area, .fast_dct = fast_dct}));
  const bool bytes = target.dtype == DType::uint8 && target.column == work.channels && target.channel == 1;
  for (std::int64_t frame = 0; frame < work.header.frames; ++frame) {
    const PixelTarget place = moved(target, frame * work.width * work.height * work.channels);
    for (std::int64_t y = 0; y < work.area.height; ++y) {
      if (y % rows_a_look == 0) StopCheck::look(stop);
      std::byte* const there = bytes ? place.elements + place.first + y * place.row : nullptr;
      FOREBAY_TRY(const std::byte* const pixels, reader.row(there));
      copy_pixels(pixels, {.width = work.area.width, .channels = work.channels, .wide = work.wide}, y, place);
    }
  }
  return {};
}

Result<void> ImageDecoding::resize(ImageReader& reader, const Work& work, const PixelTarget& target,
                                   const StopCheck* stop, ImageMemory& memory) const {
  const std::int64_t columns = work.turned.swap ? work.height : work.width;  // of the stored image
  const std::int64_t rows = work.turned.swap ? work.width : work.height;
  const int eighths = scale_for(work, columns, rows);
  const auto scaled = [&](std::int64_t size) { return static_cast<double>(size * eighths) / 8; };
  const auto first = [&](std::int64_t at) { return at * eighths / 8; };
  const auto end = [&](std::int64_t at, std::int64_t size) { return (std::min(at, size) * eighths + 7) / 8; };
  PixelArea area{.x = first(work.area.x), .y = first(work.area.y)};
  area.width = end(work.area.x + work.area.width, work.header.width) - area.x;
  area.height = end(work.area.y + work.area.height, work.header.height) - area.y;
  memory.columns.set(options_.method, area.width, scaled(work.area.x) - static_cast<double>(area.x),
                     scaled(work.area.width), columns);
  memory.rows.set(options_.method, area.height, scaled(work.area.y) - static_cast<double>(area.y),
                  scaled(work.area.height), rows);
  const bool fast_dct = options_.dct == JpegTransform::fast;
  FOREBAY_DO(reader.begin(
      {.channels = work.channels, .wide = work.wide, .eighths = eighths, .area = area, .fast_dct = fast_dct}));
  const RowForm form{.width = area.width, .channels = work.channels, .wide = work.wide};
  for (std::int64_t frame = 0; frame < work.header.frames; ++frame) {
    memory.resampler.begin(memory.rows, memory.columns, form,
                           moved(target, frame * work.width * work.height * work.channels));
    for (std::int64_t y = 0; y < area.height; ++y) {
      if (y % rows_a_look == 0) StopCheck::look(stop);
      FOREBAY_TRY(const std::byte* const pixels, reader.row(memory.resampler.place()));
      memory.resampler.add(pixels);
    }
  }
  return {};
}

/// The smallest scale of the decoder that leaves the area at least as large as the result.
int ImageDecoding::scale_for(const Work& work, std::int64_t columns, std::int64_t rows) const {
  const bool takes_all = options_.method != ResizeMethod::nearest && options_.method != ResizeMethod::bilinear;
  const bool may = options_.decoder_scale && work.header.scales && takes_all;
  for (const int eighths : {1, 2, 4}) {
    if (may && work.area.width * eighths >= columns * 8 && work.area.height * eighths >= rows * 8) return eighths;
  }
  return 8;
}

void ImageDecoding::make_blank(std::int64_t row, std::size_t before, Column& out) {
  if (out.fixed()) {
    std::memset(out.values.data() + static_cast<std::size_t>(row) * out.row_bytes(), 0, out.row_bytes());
    return;
  }
  out.values.resize(before);
  const auto& dims = out.shape.dims();
  const auto unknown = static_cast<std::size_t>(std::count(dims.begin(), dims.end(), unknown_dim));
  out.end_row(std::vector<std::int64_t>(unknown, 0));
}

void ImageDecoding::end_row(const Work& work, Column& out) const {
  std::vector<std::int64_t> unknown;
  if (options_.frames == ImageFrames::all) unknown.push_back(work.header.frames);
  if (options_.channels == 0 && options_.layout == ImageLayout::chw) unknown.push_back(work.channels);
  if (!options_.resize && !options_.size) {
    unknown.push_back(work.height);
    unknown.push_back(work.width);
  }
  if (options_.channels == 0 && options_.layout == ImageLayout::hwc) unknown.push_back(work.channels);
  out.end_row(unknown);
}

}  // namespace forebay::steps
