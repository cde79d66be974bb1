// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include <webp/decode.h>
#include <webp/demux.h>

#include "steps/image/formats/exif.h"
#include "steps/image/formats/image_reader.h"
#include "steps/image/formats/pixel_rows.h"

namespace forebay::steps {

namespace {

/// The content of a chunk of a RIFF file, or nothing.
std::span<const std::byte> riff_chunk(std::span<const std::byte> file, const char* type) {
  const auto number = [&](std::size_t at) {
    std::uint32_t out = 0;
    for (std::size_t i = 4; i-- > 0;) out = out << 8 | std::to_integer<std::uint32_t>(file[at + i]);
    return std::size_t{out};
  };
  for (std::size_t at = 12; at <= file.size() && file.size() - at >= 8;) {
    const std::size_t size = number(at + 4);
    if (size > file.size() - at - 8) break;
    if (std::memcmp(file.data() + at, type, 4) == 0) return file.subspan(at + 8, size);
    at += 8 + size + size % 2;
  }
  return {};
}

struct DeleteAnimation {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

/// libwebp. It decodes whole images; of an animation it draws the frames.
class WebpReader final : public ImageReader {
 public:
  Result<ImageHeader> open(std::span<const std::byte> bytes, const FrameLimit& frames, const StopCheck* stop) override {
    close();
    bytes_ = bytes;
    stop_ = stop;
    const VP8StatusCode status = WebPGetFeatures(data(), bytes.size(), &features_);
    if (status != VP8_STATUS_OK) return failed(status);
    ImageHeader out{.width = features_.width, .height = features_.height, .channels = features_.has_alpha ? 4 : 3};
    if (out.width < 1 || out.height < 1) return image_fault("WebP", "it has no pixels");
    if (const auto exif = riff_chunk(bytes, "EXIF"); !exif.empty()) {
      const bool named = exif.size() > 6 && std::memcmp(exif.data(), "Exif\0", 6) == 0;
      out.orientation = orientation_in(named ? exif.subspan(6) : exif);
    }
    if (features_.has_animation != 0 && frames.all) {
      const auto header = riff_chunk(bytes, "ANIM");
      if (header.empty()) return image_fault("WebP", "its animation has no header");
      out.frames = count_frames(frames.max);
      if (out.frames == 0) return image_fault("WebP", "it has no frame");
    }
    constexpr std::int64_t held = 4;  // the pixels, and what the library holds: two canvases, or a lossless image
    out.memory = out.width * out.height * 4 * held + (64 << 10);
    return out;
  }

  Result<void> begin(const ImageRequest& request) override {
    request_ = request;
    y_ = request.area.height;  // the next row is the first one of a frame
    converted_.resize(static_cast<std::size_t>(request.area.width * request.channels));
    if (features_.has_animation == 0) return {};
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0) return image_fault("WebP", "the library is of another version");
    options.color_mode = MODE_RGBA;
    options.use_threads = 0;
    const WebPData all{.bytes = data(), .size = bytes_.size()};
    animation_.reset(WebPAnimDecoderNew(&all, &options));
    if (animation_ == nullptr) return image_fault("WebP", "its frames do not fit together, or it ends early");
    return {};
  }

  Result<const std::byte*> row(std::byte* /*place*/) override {
    if (y_ == request_.area.height) {
      StopCheck::look(stop_);
      FOREBAY_DO(animation_ != nullptr ? next_frame() : decode_image());
      y_ = 0;
    }
    const std::int64_t at = (request_.area.y + y_++) * features_.width + request_.area.x;
    const std::byte* const found = pixels_ + at * stored_;
    if (stored_ == request_.channels) return found;
    convert_channels(found, stored_, converted_.data(), request_.channels, false, request_.area.width);
    return converted_.data();
  }

  void close() override {
    animation_.reset();
    std::vector<std::byte>{}.swap(image_);
  }

 private:
  [[nodiscard]] const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes_.data()); }

  static Error failed(VP8StatusCode status) {
    switch (status) {
      case VP8_STATUS_OUT_OF_MEMORY:
        throw std::bad_alloc{};
      case VP8_STATUS_SUSPENDED:
      case VP8_STATUS_NOT_ENOUGH_DATA:
        return image_fault("WebP", "it ends early");
      case VP8_STATUS_UNSUPPORTED_FEATURE:
        return image_fault("WebP", "it has a feature that the library does not know");
      default:
        return image_fault("WebP", "its data is corrupt");
    }
  }

  [[nodiscard]] std::int64_t count_frames(std::int64_t max) const {
    std::int64_t count = 0;
    std::size_t at = 12;
    while (bytes_.size() - at >= 8 && count <= max) {
      std::size_t size = 0;
      for (std::size_t i = 4; i-- > 0;) size = size << 8 | std::to_integer<std::size_t>(bytes_[at + 4 + i]);
      count += std::memcmp(bytes_.data() + at, "ANMF", 4) == 0 ? 1 : 0;
      if (size + size % 2 > bytes_.size() - at - 8) break;
      at += 8 + size + size % 2;
    }
    return count;
  }

  Result<void> decode_image() {
    stored_ = request_.channels == 2 || request_.channels == 4 ? 4 : 3;
    const std::size_t stride = static_cast<std::size_t>(features_.width) * static_cast<std::size_t>(stored_);
    image_.resize(stride * static_cast<std::size_t>(features_.height));
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) return image_fault("WebP", "the library is of another version");
    config.output.colorspace = stored_ == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {.rgba = reinterpret_cast<std::uint8_t*>(image_.data()),
                            .stride = static_cast<int>(stride),
                            .size = image_.size()};
    const VP8StatusCode status = WebPDecode(data(), bytes_.size(), &config);
    WebPFreeDecBuffer(&config.output);
    if (status != VP8_STATUS_OK) return failed(status);
    pixels_ = image_.data();
    return {};
  }

  Result<void> next_frame() {
    std::uint8_t* canvas = nullptr;
    int time = 0;
    if (WebPAnimDecoderGetNext(animation_.get(), &canvas, &time) == 0)
      return image_fault("WebP", "a frame is corrupt, or it ends early");
    stored_ = 4;
    pixels_ = reinterpret_cast<const std::byte*>(canvas);
    return {};
  }

  std::span<const std::byte> bytes_;
  const StopCheck* stop_ = nullptr;
  WebPBitstreamFeatures features_{};
  ImageRequest request_;
  std::unique_ptr<WebPAnimDecoder, DeleteAnimation> animation_;
  std::int64_t y_ = 0;  // next row of the area
  int stored_ = 4;      // channels of `pixels_`
  const std::byte* pixels_ = nullptr;
  std::vector<std::byte> image_, converted_;
};

}  // namespace

std::unique_ptr<ImageReader> make_webp_reader() { return std::make_unique<WebpReader>(); }

}  // namespace forebay::steps
