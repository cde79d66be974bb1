// SPDX-License-Identifier: Apache-2.0
#include "steps/image/formats/jpeg_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <jerror.h>

#include "steps/image/formats/exif.h"

// A function that calls setjmp has no local object with a destructor and changes no local variable afterwards, so a
// jump leaves nothing behind.
namespace forebay::steps {

namespace {

constexpr int max_scans = 500;                 // of a progressive image; encoders write about ten
constexpr JDIMENSION pixels_a_skip = 1 << 22;  // skipped between two looks at the StopCheck
constexpr std::int64_t edge = 16;              // pixels that interpolating the chroma reads beside an area, and more

/// Warnings of the library about images that are decoded in full all the same.
bool harmless(int warning) {
  return warning == JWRN_ADOBE_XFORM || warning == JWRN_BOGUS_PROGRESSION || warning == JWRN_EXTRANEOUS_DATA ||
         warning == JWRN_JFIF_MAJOR || warning == JWRN_TOO_MUCH_DATA;
}

/// What an intact JPEG has that the library does not decode; empty: its bytes are wrong.
std::string undecoded(const jpeg_decompress_struct& info, const char* message) {
  constexpr const char* way_out = "convert it to a baseline or progressive JPEG of 8 bits, or to another format";
  switch (info.err->msg_code) {
    case JERR_BAD_PRECISION:
      return fmt::format("it has {} bits a sample, and 8 are decoded; {}", info.data_precision, way_out);
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
      return fmt::format("{}; {}", message, way_out);
    default:
      return {};
  }
}

}  // namespace

JpegReader::~JpegReader() {
  if (created_) jpeg_destroy_decompress(&info_);
}

void JpegReader::fail(j_common_ptr info) {
  auto* const failure = reinterpret_cast<Failure*>(info->err);
  (*info->err->format_message)(info, failure->message);
  std::longjmp(failure->jump, 1);
}

void JpegReader::warn(j_common_ptr info, int level) {
  if (level < 0 && !harmless(info->err->msg_code)) fail(info);
}

/// Called by the library between parts of its work.
void JpegReader::look(j_common_ptr info) {
  JpegReader& reader = *reinterpret_cast<Progress*>(info->progress)->reader;
  try {
    StopCheck::look(reader.stop_);
  } catch (...) {
    reader.stopped_ = std::current_exception();
  }
  if (reader.stopped_) std::longjmp(reader.failure_.jump, 1);
  if (reader.info_.input_scan_number <= max_scans) return;
  std::snprintf(reader.failure_.message, sizeof(reader.failure_.message), "it has more than %d scans", max_scans);
  std::longjmp(reader.failure_.jump, 1);
}

Error JpegReader::failed() {
  jpeg_abort_decompress(&info_);
  if (stopped_) std::rethrow_exception(std::exchange(stopped_, nullptr));
  if (const std::string what = undecoded(info_, failure_.message); !what.empty())
    return {Code::data, Detail::invalid_argument, "a JPEG that cannot be decoded: " + what};
  return image_fault("JPEG", failure_.message);
}

bool JpegReader::create() {
  info_.err = jpeg_std_error(&failure_.base);
  failure_.base.error_exit = &JpegReader::fail;
  failure_.base.emit_message = &JpegReader::warn;
  if (setjmp(failure_.jump) != 0) return false;
  jpeg_create_decompress(&info_);
  progress_.base.progress_monitor = &JpegReader::look;
  progress_.reader = this;
  info_.progress = &progress_.base;
  return true;
}

bool JpegReader::read_header(std::span<const std::byte> bytes) {
  if (setjmp(failure_.jump) != 0) return false;
  jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info_, TRUE);
  return true;
}

Result<ImageHeader> JpegReader::open(std::span<const std::byte> bytes, const FrameLimit& /*frames*/,
                                     const StopCheck* stop) {
  if (!created_ && !(created_ = create())) throw std::bad_alloc{};
  jpeg_abort_decompress(&info_);
  stop_ = stop;
  info_.err->msg_code = 0;  // of the image before
  if (!read_header(bytes)) return failed();
  return ImageHeader{.width = info_.image_width,
                     .height = info_.image_height,
                     .channels = info_.num_components == 1 ? 1 : 3,
                     .orientation = exif_orientation(bytes),
                     .scales = true,
                     .memory = memory_needed()};
}

std::int64_t JpegReader::memory_needed() {
  constexpr std::int64_t rows_held = 64;  // of samples, in the buffers between the stages of the library
  const std::int64_t components = info_.num_components;
  const std::int64_t width = std::int64_t{info_.image_width} + 64;
  const std::int64_t height = std::int64_t{info_.image_height} + 64;
  const std::int64_t buffers = width * rows_held * (components + 1);
  return jpeg_has_multiple_scans(&info_) != FALSE
             ? buffers + width * height * components * static_cast<std::int64_t>(sizeof(JCOEF))
             : buffers;
}

bool JpegReader::start(int channels, int eighths, bool fast_dct) {
  if (setjmp(failure_.jump) != 0) return false;
  info_.scale_num = static_cast<unsigned>(eighths);
  info_.scale_denom = 8;
  const bool ink = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  const J_COLOR_SPACE colors = channels == 4 ? JCS_EXT_RGBA : JCS_RGB;
  info_.out_color_space = ink ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : colors;
  info_.dct_method = fast_dct ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_start_decompress(&info_);
  return true;
}

bool JpegReader::crop(JDIMENSION x, JDIMENSION width) {
  if (setjmp(failure_.jump) != 0) return false;
  JDIMENSION first = x;
  JDIMENSION count = width;
  jpeg_crop_scanline(&info_, &first, &count);
  left_ = x - first;
  return true;
}

bool JpegReader::skip(JDIMENSION rows) {
  if (setjmp(failure_.jump) != 0) return false;
  jpeg_skip_scanlines(&info_, rows);
  return true;
}

bool JpegReader::read(std::uint8_t* row) {
  if (setjmp(failure_.jump) != 0) return false;
  JSAMPROW rows[1] = {row};
  return jpeg_read_scanlines(&info_, rows, 1) == 1;
}

Result<void> JpegReader::begin(const ImageRequest& request) {
  const PixelArea& area = request.area;
  channels_ = request.channels;
  width_ = area.width;
  std::snprintf(failure_.message, sizeof(failure_.message), "it ends early");
  if (!start(channels_, request.eighths, request.fast_dct)) return failed();
  left_ = 0;
  const std::int64_t from = std::max<std::int64_t>(0, area.x - edge);
  const std::int64_t to = std::min<std::int64_t>(info_.output_width, area.x + area.width + edge);
  const auto components = static_cast<std::size_t>(info_.output_components);
  if (from > 0 || to < std::int64_t{info_.output_width}) {
    if (!crop(static_cast<JDIMENSION>(from), static_cast<JDIMENSION>(to - from))) return failed();
  }
  left_ = (left_ + static_cast<std::size_t>(area.x - from)) * components;
  direct_ = info_.out_color_space != JCS_CMYK && left_ == 0 && std::int64_t{info_.output_width} == width_;
  row_.resize(static_cast<std::size_t>(info_.output_width) * components);
  // Each call decodes some rows at the end of what it skips, so the calls are few.
  const JDIMENSION at_once = std::max<JDIMENSION>(64, pixels_a_skip / info_.image_width);
  for (auto left = static_cast<JDIMENSION>(area.y); left > 0;) {
    const JDIMENSION rows = std::min(left, at_once);
    StopCheck::look(stop_);
    if (!skip(rows)) return failed();
    left -= rows;
  }
  return {};
}

Result<const std::byte*> JpegReader::row(std::byte* place) {
  if (place != nullptr && direct_) {
    if (!read(reinterpret_cast<std::uint8_t*>(place))) return failed();
    return place;
  }
  if (!read(row_.data())) return failed();
  if (info_.out_color_space != JCS_CMYK) return reinterpret_cast<const std::byte*>(row_.data() + left_);
  convert_ink();
  return reinterpret_cast<const std::byte*>(pixels_.data());
}

/// From CMYK as Adobe writes it, 255 for no ink, or the other way round.
void JpegReader::convert_ink() {
  pixels_.resize(static_cast<std::size_t>(width_) * static_cast<std::size_t>(channels_));
  const std::uint8_t* ink = row_.data() + left_;
  std::uint8_t* out = pixels_.data();
  const auto light = [&](std::size_t i) {
    const int color = info_.saw_Adobe_marker != FALSE ? ink[i] : 255 - ink[i];
    const int key = info_.saw_Adobe_marker != FALSE ? ink[3] : 255 - ink[3];
    return (color * key + 127) / 255;
  };
  for (std::int64_t x = 0; x < width_; ++x, ink += 4) {
    if (channels_ == 1) {
      *out++ = static_cast<std::uint8_t>((299 * light(0) + 587 * light(1) + 114 * light(2) + 500) / 1000);
      continue;
    }
    for (std::size_t i = 0; i < 3; ++i) *out++ = static_cast<std::uint8_t>(light(i));
    if (channels_ == 4) *out++ = 255;
  }
}

void JpegReader::close() {
  if (created_) jpeg_abort_decompress(&info_);
}

std::unique_ptr<ImageReader> make_jpeg_reader() { return std::make_unique<JpegReader>(); }

}  // namespace forebay::steps
