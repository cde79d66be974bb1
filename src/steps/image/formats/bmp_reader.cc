// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "steps/image/formats/bmp_header.h"
#include "steps/image/formats/image_reader.h"
#include "steps/image/formats/pixel_rows.h"

namespace forebay::steps {

namespace {

/// Windows bitmaps: rows of pixels, or runs.
class BmpReader final : public ImageReader {
 public:
  Result<ImageHeader> open(std::span<const std::byte> bytes, const FrameLimit& /*frames*/,
                           const StopCheck* stop) override {
    bytes_ = bytes;
    stop_ = stop;
    FOREBAY_TRY(header_, read_bmp_header(bytes));
    const bool alpha = header_.masks[3].bits != 0;
    return ImageHeader{.width = header_.width,
                       .height = header_.height,
                       .channels = alpha ? 4 : 3,
                       .memory = header_.run_bits != 0 ? header_.width * header_.height : header_.width * 8};
  }

  Result<void> begin(const ImageRequest& request) override {
    request_ = request;
    y_ = 0;
    stored_.resize(static_cast<std::size_t>(request.area.width * 4));
    converted_.resize(static_cast<std::size_t>(request.area.width * request.channels));
    if (header_.run_bits == 0) return {};
    indexes_.assign(static_cast<std::size_t>(header_.width * header_.height), 0);
    StopCheck::look(stop_);
    return read_bmp_runs(bytes_, header_, indexes_);
  }

  Result<const std::byte*> row(std::byte* /*place*/) override {
    const std::int64_t shown = request_.area.y + y_++;
    const std::int64_t y = header_.top_down ? shown : header_.height - 1 - shown;
    int channels = 3;
    if (header_.bits <= 8) {
      FOREBAY_DO(read_indexes(y));
    } else if (header_.bits == 24) {
      read_triples(y);
    } else {
      channels = header_.masks[3].bits != 0 ? 4 : 3;
      read_masked(y, channels);
    }
    if (channels == request_.channels) return stored_.data();
    convert_channels(stored_.data(), channels, converted_.data(), request_.channels, false, request_.area.width);
    return converted_.data();
  }

  void close() override { std::vector<std::uint8_t>{}.swap(indexes_); }

 private:
  [[nodiscard]] const std::uint8_t* stored_row(std::int64_t y) const {
    return reinterpret_cast<const std::uint8_t*>(bytes_.data()) + header_.pixels +
           static_cast<std::uint64_t>(y) * header_.row_bytes;
  }

  Result<void> read_indexes(std::int64_t y) {
    auto* out = reinterpret_cast<std::uint8_t*>(stored_.data());
    const bool runs = header_.run_bits != 0;
    const std::uint8_t* const row = runs ? indexes_.data() + y * header_.width : stored_row(y);
    const int bits = runs ? 8 : header_.bits;
    const int mask = (1 << bits) - 1;
    const std::int64_t per_byte = 8 / bits;
    for (std::int64_t x = request_.area.x; x < request_.area.x + request_.area.width; ++x, out += 3) {
      const auto shift = static_cast<int>((per_byte - 1 - x % per_byte) * bits);
      const auto index = static_cast<std::size_t>(row[x / per_byte] >> shift & mask);
      if (index >= header_.colors.size()) return image_fault("BMP", "a pixel has a color outside of its palette");
      std::copy_n(header_.colors[index].data(), 3, out);
    }
    return {};
  }

  void read_triples(std::int64_t y) {
    auto* out = reinterpret_cast<std::uint8_t*>(stored_.data());
    const std::uint8_t* in = stored_row(y) + request_.area.x * 3;
    for (std::int64_t x = 0; x < request_.area.width; ++x, in += 3, out += 3) {
      out[0] = in[2];
      out[1] = in[1];
      out[2] = in[0];
    }
  }

  void read_masked(std::int64_t y, int channels) {
    auto* out = reinterpret_cast<std::uint8_t*>(stored_.data());
    const std::int64_t size = header_.bits / 8;
    const std::uint8_t* in = stored_row(y) + request_.area.x * size;
    for (std::int64_t x = 0; x < request_.area.width; ++x, in += size, out += channels) {
      std::uint32_t pixel = 0;
      for (std::int64_t i = size; i-- > 0;) pixel = pixel << 8 | in[i];
      for (int c = 0; c < channels; ++c) out[c] = header_.masks[static_cast<std::size_t>(c)].of(pixel);
    }
  }

  BmpHeader header_;
  std::span<const std::byte> bytes_;
  const StopCheck* stop_ = nullptr;
  ImageRequest request_;
  std::int64_t y_ = 0;                 // next row of the area
  std::vector<std::uint8_t> indexes_;  // of runs: the image
  std::vector<std::byte> stored_, converted_;
};

}  // namespace

std::unique_ptr<ImageReader> make_bmp_reader() { return std::make_unique<BmpReader>(); }

}  // namespace forebay::steps
