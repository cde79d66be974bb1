// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/core.h>
#include <gif_lib.h>

#include "steps/image/formats/image_reader.h"
#include "steps/image/formats/pixel_rows.h"

namespace forebay::steps {

namespace {

/// Counts the frames of a GIF, at most `max` + 1, without decoding any. A file that is cut short has those before the
/// cut.
class GifBlocks {
 public:
  explicit GifBlocks(std::span<const std::byte> bytes) : bytes_{bytes} {}

  [[nodiscard]] std::int64_t frames(std::int64_t max) {
    std::int64_t count = 0;
    skip(6 + 4);  // signature, sizes
    skip(2 + colors(byte()));
    while (count <= max) {
      const int block = byte();
      if (block == 0x21) {
        skip(1);
      } else if (block == 0x2C) {
        skip(8);
        skip(colors(byte()) + 1);
        ++count;
      } else {
        break;
      }
      for (int size = byte(); size > 0; size = byte()) skip(static_cast<std::size_t>(size));
    }
    return count;
  }

 private:
  static std::size_t colors(int flags) {
    return flags >= 0 && (flags & 0x80) != 0 ? std::size_t{3} << ((flags & 7) + 1) : 0;
  }
  int byte() { return at_ < bytes_.size() ? std::to_integer<int>(bytes_[at_++]) : -1; }
  void skip(std::size_t size) { at_ = std::min(bytes_.size(), at_ + size); }

  const std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// giflib. Frames are drawn on a canvas of colors and alpha, which begins transparent.
class GifReader final : public ImageReader {
 public:
  ~GifReader() override { destroy(); }

  Result<ImageHeader> open(std::span<const std::byte> bytes, const FrameLimit& frames, const StopCheck* stop) override {
    destroy();
    bytes_ = bytes;
    at_ = 0;
    stop_ = stop;
    drawn_ = 0;
    int code = 0;
    gif_ = DGifOpen(this, &GifReader::give, &code);
    if (gif_ == nullptr) return failed(code);
    if (gif_->SWidth < 1 || gif_->SHeight < 1)
      return image_fault("GIF", fmt::format("its canvas has {} x {} pixels", gif_->SWidth, gif_->SHeight));
    ImageHeader out{.width = gif_->SWidth, .height = gif_->SHeight, .channels = 3};
    if (frames.all) out.frames = GifBlocks{bytes}.frames(frames.max);
    if (out.frames == 0) return image_fault("GIF", "it has no frame");
    all_ = frames.all ? out.frames : 0;
    out.memory = out.width * out.height * 4 * 2 + out.width * 8;
    return out;
  }

  Result<void> begin(const ImageRequest& request) override {
    request_ = request;
    y_ = request.area.height;  // the next row is the first one of a frame
    width_ = gif_->SWidth;
    canvas_.assign(static_cast<std::size_t>(width_) * static_cast<std::size_t>(gif_->SHeight), Color{});
    converted_.resize(static_cast<std::size_t>(request.area.width * request.channels));
    return {};
  }

  Result<const std::byte*> row(std::byte* /*place*/) override {
    if (y_ == request_.area.height) {
      FOREBAY_DO(draw_frame());
      y_ = 0;
      if (++drawn_ == all_) FOREBAY_DO(check_end());
    }
    const Color* const row = canvas_.data() + (request_.area.y + y_++) * width_ + request_.area.x;
    convert_channels(reinterpret_cast<const std::byte*>(row), 4, converted_.data(), request_.channels, false,
                     request_.area.width);
    return converted_.data();
  }

  void close() override {
    destroy();
    std::vector<Color>{}.swap(canvas_);
    std::vector<Color>{}.swap(before_);
  }

 private:
  using Color = std::array<std::uint8_t, 4>;

  static int give(GifFileType* gif, GifByteType* out, int size) {
    auto* const self = static_cast<GifReader*>(gif->UserData);
    const std::size_t count = std::min(self->bytes_.size() - self->at_, static_cast<std::size_t>(size));
    std::memcpy(out, self->bytes_.data() + self->at_, count);
    self->at_ += count;
    return static_cast<int>(count);
  }
  void destroy() {
    if (gif_ != nullptr) DGifCloseFile(gif_, nullptr);
    gif_ = nullptr;
  }
  [[nodiscard]] Error failed(int code) const {
    const char* const text = GifErrorString(code);
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) throw std::bad_alloc{};
    const bool early = code == D_GIF_ERR_READ_FAILED || code == D_GIF_ERR_EOF_TOO_SOON || at_ == bytes_.size();
    return image_fault("GIF", early || text == nullptr ? "it ends early" : text);
  }
  [[nodiscard]] Error failed() const { return failed(gif_->Error); }

  /// Goes on to the next frame or to the end, and keeps what belongs to the frame.
  Result<GifRecordType> next() {
    control_ = {.DisposalMode = DISPOSAL_UNSPECIFIED,
                .UserInputFlag = false,
                .DelayTime = 0,
                .TransparentColor = NO_TRANSPARENT_COLOR};
    for (;;) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      if (DGifGetRecordType(gif_, &type) == GIF_ERROR) return failed();
      if (type != EXTENSION_RECORD_TYPE) return type;
      int label = 0;
      GifByteType* block = nullptr;
      if (DGifGetExtension(gif_, &label, &block) == GIF_ERROR) return failed();
      if (label == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4)
        static_cast<void>(DGifExtensionToGCB(block[0], block + 1, &control_));
      while (block != nullptr) {
        if (DGifGetExtensionNext(gif_, &block) == GIF_ERROR) return failed();
      }
    }
  }

  /// The end mark may be missing: all frames are whole, and so other readers take such files.
  Result<void> check_end() {
    if (at_ == bytes_.size()) return {};
    FOREBAY_TRY(const GifRecordType type, next());
    if (type != TERMINATE_RECORD_TYPE) return image_fault("GIF", "it has no end mark");
    return {};
  }

  /// Removes the last frame from the canvas as that frame says.
  void dispose() {
    if (disposal_ == DISPOSE_PREVIOUS) canvas_ = before_;
    if (disposal_ != DISPOSE_BACKGROUND) return;
    for (int y = 0; y < last_.height; ++y) {
      Color* const row = canvas_.data() + (last_.y + y) * width_ + last_.x;
      std::fill(row, row + last_.width, Color{});
    }
  }

  Result<void> draw_frame() {
    if (drawn_ > 0) dispose();
    FOREBAY_TRY(const GifRecordType type, next());
    if (type != IMAGE_DESC_RECORD_TYPE) return image_fault("GIF", "it has no frame");
    if (DGifGetImageDesc(gif_) == GIF_ERROR) return failed();
    const GifImageDesc& frame = gif_->Image;
    last_ = {.x = frame.Left, .y = frame.Top, .width = frame.Width, .height = frame.Height};
    disposal_ = control_.DisposalMode;
    if (frame.Width < 1 || frame.Height < 1 || frame.Left < 0 || frame.Top < 0 ||
        frame.Left + frame.Width > gif_->SWidth || frame.Top + frame.Height > gif_->SHeight) {
      return image_fault(
          "GIF", fmt::format("a frame of {} x {} pixels at {}, {} is not inside the canvas of {} x {}", frame.Width,
                             frame.Height, frame.Left, frame.Top, gif_->SWidth, gif_->SHeight));
    }
    const ColorMapObject* const colors = frame.ColorMap != nullptr ? frame.ColorMap : gif_->SColorMap;
    if (colors == nullptr) return image_fault("GIF", "a frame has no palette");
    if (disposal_ == DISPOSE_PREVIOUS) before_ = canvas_;
    return draw_lines(*colors);
  }

  Result<void> draw_lines(const ColorMapObject& colors) {
    constexpr std::array<std::pair<int, int>, 4> passes{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};  // first row, step
    line_.resize(static_cast<std::size_t>(last_.width));
    if (!gif_->Image.Interlace) return draw_pass(0, 1, colors);
    for (const auto& [first, step] : passes) FOREBAY_DO(draw_pass(first, step, colors));
    return {};
  }

  Result<void> draw_pass(int first, int step, const ColorMapObject& colors) {
    constexpr int lines_a_look = 64;
    for (int y = first; y < last_.height; y += step) {
      if (y / step % lines_a_look == 0) StopCheck::look(stop_);
      if (DGifGetLine(gif_, line_.data(), static_cast<int>(last_.width)) == GIF_ERROR) return failed();
      Color* out = canvas_.data() + (last_.y + y) * width_ + last_.x;
      for (const GifPixelType index : line_) {
        if (index != control_.TransparentColor) {
          if (index >= colors.ColorCount) return image_fault("GIF", "a pixel has a color outside of its palette");
          const GifColorType& color = colors.Colors[index];
          *out = {color.Red, color.Green, color.Blue, 255};
        }
        ++out;
      }
    }
    return {};
  }

  GifFileType* gif_ = nullptr;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  const StopCheck* stop_ = nullptr;
  ImageRequest request_;
  GraphicsControlBlock control_{};
  int disposal_ = DISPOSAL_UNSPECIFIED;  // of the last frame
  PixelArea last_;                       // where it is
  std::int64_t width_ = 0;
  std::int64_t y_ = 0;    // next row of the area
  std::int64_t all_ = 0;  // frames of the file; 0: only the first one is wanted
  std::int64_t drawn_ = 0;
  std::vector<GifPixelType> line_;
  std::vector<Color> canvas_, before_;
  std::vector<std::byte> converted_;
};

}  // namespace

std::unique_ptr<ImageReader> make_gif_reader() { return std::make_unique<GifReader>(); }

}  // namespace forebay::steps
