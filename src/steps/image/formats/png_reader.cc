// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include <png.h>

#include "steps/image/formats/exif.h"
#include "steps/image/formats/image_reader.h"
#include "steps/image/formats/pixel_rows.h"

// A function that calls setjmp has no local object with a destructor and changes no local variable afterwards, so a
// jump leaves nothing behind.
namespace forebay::steps {

namespace {

constexpr png_uint_32 any_side = 0x7FFF'FFFF;  // max_image_pixels is the limit
constexpr std::int64_t inflate_bytes = 64 << 10;
constexpr std::int64_t rows_a_png_look = 64;

/// The content of the first chunk of that type before the pixels, or nothing.
std::span<const std::byte> early_chunk(std::span<const std::byte> png, const char* type) {
  const auto number = [&](std::size_t at) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out = out << 8 | std::to_integer<std::uint32_t>(png[at + i]);
    return std::size_t{out};
  };
  for (std::size_t at = 8; png.size() - at >= 12;) {
    const std::size_t size = number(at);
    if (std::memcmp(png.data() + at + 4, "IDAT", 4) == 0 || size > png.size() - at - 12) break;
    if (std::memcmp(png.data() + at + 4, type, 4) == 0) return png.subspan(at + 8, size);
    at += size + 12;
  }
  return {};
}

/// libpng. Chunks that do not change pixels are skipped: their text and profiles are never inflated.
class PngReader final : public ImageReader {
 public:
  ~PngReader() override { destroy(); }

  Result<ImageHeader> open(std::span<const std::byte> bytes, const FrameLimit& /*frames*/,
                           const StopCheck* stop) override {
    destroy();
    bytes_ = bytes;
    at_ = 0;
    stop_ = stop;
    if (!create()) throw std::bad_alloc{};
    if (!read_info()) return fault();
    ImageHeader out{.width = png_get_image_width(png_, info_), .height = png_get_image_height(png_, info_)};
    const int color = png_get_color_type(png_, info_);
    const bool alpha = (color & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    out.channels = ((color & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + (alpha ? 1 : 0);
    out.wide = png_get_bit_depth(png_, info_) == 16;
    if (const auto exif = early_chunk(bytes, "eXIf"); !exif.empty()) out.orientation = orientation_in(exif);
    indexed_ = color == PNG_COLOR_TYPE_PALETTE;
    interlaced_ = png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
    const std::int64_t pixel = 4 * (out.wide ? 2 : 1);
    out.memory = inflate_bytes + out.width * pixel * (interlaced_ ? 3 + out.height : 4);
    return out;
  }

  Result<void> begin(const ImageRequest& request) override {
    request_ = request;
    wide_ = request.wide && png_get_bit_depth(png_, info_) == 16;
    if (!start()) return fault();
    stored_ = indexed_ ? 4 : png_get_channels(png_, info_);
    if (indexed_) read_colors();
    height_ = png_get_image_height(png_, info_);
    const std::size_t bytes = png_get_rowbytes(png_, info_);
    row_.resize(bytes);
    converted_.resize(static_cast<std::size_t>(request.area.width * request.channels * (wide_ ? 2 : 1)));
    y_ = 0;
    if (interlaced_) return read_passes(bytes);
    for (; y_ < request.area.y; ++y_) {
      if (y_ % rows_a_png_look == 0) StopCheck::look(stop_);
      if (!read(row_.data())) return fault();
    }
    return {};
  }

  Result<const std::byte*> row(std::byte* /*place*/) override {
    const std::byte* found = row_.data();
    if (interlaced_) {
      found = image_.data() + static_cast<std::size_t>(request_.area.y + y_++) * row_.size();
    } else {
      if (!read(row_.data())) return fault();
      if (++y_ == height_) FOREBAY_DO(finish());
    }
    if (indexed_) {
      FOREBAY_TRY(found, colors_of(found + request_.area.x));
    } else {
      found += request_.area.x * stored_ * (wide_ ? 2 : 1);
    }
    if (stored_ == request_.channels) return found;
    convert_channels(found, stored_, converted_.data(), request_.channels, wide_, request_.area.width);
    return converted_.data();
  }

  void close() override {
    destroy();
    std::vector<std::byte>{}.swap(image_);
  }

 private:
  static void fail(png_structp png, png_const_charp message) {
    auto* const self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof(self->message_), "%s", message);
    std::longjmp(self->jump_, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void give(png_structp png, png_bytep out, std::size_t size) {
    auto* const self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (self->bytes_.size() - self->at_ < size) png_error(png, "it ends early");
    std::memcpy(out, self->bytes_.data() + self->at_, size);
    self->at_ += size;
  }
  [[nodiscard]] Error fault() {
    destroy();
    return image_fault("PNG", message_);
  }

  bool create() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngReader::fail, &PngReader::ignore);
    if (png_ == nullptr) return false;
    info_ = png_create_info_struct(png_);
    return info_ != nullptr;
  }
  void destroy() {
    if (png_ != nullptr) png_destroy_read_struct(&png_, &info_, nullptr);
    png_ = nullptr;
    info_ = nullptr;
  }
  bool read_info() {
    if (setjmp(jump_) != 0) return false;
    png_set_read_fn(png_, this, &PngReader::give);
    png_set_user_limits(png_, any_side, any_side);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png_, info_);
    return true;
  }
  /// Whole bytes; of palettes one for each pixel. Transparency is alpha, if it is wanted.
  bool start() {
    if (setjmp(jump_) != 0) return false;
    indexed_ ? png_set_packing(png_) : png_set_expand(png_);
    if (!wide_) png_set_strip_16(png_);
    if (wide_ && std::endian::native == std::endian::little) png_set_swap(png_);
    if (!indexed_ && (request_.channels == 1 || request_.channels == 3)) png_set_strip_alpha(png_);
    if (!indexed_ && request_.channels >= 3) png_set_gray_to_rgb(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read(std::byte* row) {
    if (setjmp(jump_) != 0) return false;
    png_read_row(png_, reinterpret_cast<png_bytep>(row), nullptr);
    return true;
  }
  bool read_end() {
    if (setjmp(jump_) != 0) return false;
    png_read_end(png_, nullptr);
    return true;
  }

  Result<void> read_passes(std::size_t row_bytes) {
    image_.resize(row_bytes * static_cast<std::size_t>(height_));
    for (int pass = 0; pass < passes_; ++pass) {
      for (std::int64_t y = 0; y < height_; ++y) {
        if (y % rows_a_png_look == 0) StopCheck::look(stop_);
        if (!read(image_.data() + static_cast<std::size_t>(y) * row_bytes)) return fault();
      }
    }
    return finish();
  }
  /// After the last row: the checksums to the end.
  Result<void> finish() {
    if (!read_end()) return fault();
    return {};
  }

  /// The palette with its transparency. The library would take pixels outside of it for black.
  void read_colors() {
    png_colorp colors = nullptr;
    png_bytep alphas = nullptr;
    int alpha_count = 0;
    color_count_ = 0;
    png_get_PLTE(png_, info_, &colors, &color_count_);
    png_get_tRNS(png_, info_, &alphas, &alpha_count, nullptr);
    for (int i = 0; i < color_count_; ++i) {
      const std::uint8_t alpha = alphas != nullptr && i < alpha_count ? alphas[i] : 255;
      colors_[static_cast<std::size_t>(i)] = {colors[i].red, colors[i].green, colors[i].blue, alpha};
    }
    expanded_.resize(static_cast<std::size_t>(request_.area.width));
  }
  Result<const std::byte*> colors_of(const std::byte* indexes) {
    for (Color& color : expanded_) {
      const auto index = std::to_integer<std::size_t>(*indexes++);
      if (index >= static_cast<std::size_t>(color_count_))
        return image_fault("PNG", "a pixel has a color outside of its palette");
      color = colors_[index];
    }
    return reinterpret_cast<const std::byte*>(expanded_.data());
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  char message_[128] = {};
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  const StopCheck* stop_ = nullptr;
  ImageRequest request_;
  bool interlaced_ = false;
  bool wide_ = false;
  using Color = std::array<std::uint8_t, 4>;
  bool indexed_ = false;
  int color_count_ = 0;
  std::array<Color, 256> colors_{};
  std::vector<Color> expanded_;
  int passes_ = 1;
  int stored_ = 3;  // channels of a row of the library
  std::int64_t height_ = 0;
  std::int64_t y_ = 0;  // the next row: of the image, or of the area where the image is held
  std::vector<std::byte> row_, converted_;
  std::vector<std::byte> image_;  // of interlaced images
};

}  // namespace

std::unique_ptr<ImageReader> make_png_reader() { return std::make_unique<PngReader>(); }

}  // namespace forebay::steps
