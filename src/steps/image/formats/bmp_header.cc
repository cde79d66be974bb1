// SPDX-License-Identifier: Apache-2.0
#include "steps/image/formats/bmp_header.h"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "steps/image/formats/image_reader.h"

namespace forebay::steps {

namespace {

constexpr std::size_t file_header = 14;
constexpr std::uint32_t no_compression = 0, runs_of_8 = 1, runs_of_4 = 2, with_masks = 3, with_alpha_mask = 6;

/// Little-endian numbers. The caller has checked that they are there.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_{bytes} {}
  [[nodiscard]] std::uint32_t two(std::size_t at) const { return byte(at) | byte(at + 1) << 8; }
  [[nodiscard]] std::uint32_t four(std::size_t at) const { return two(at) | two(at + 2) << 16; }

 private:
  [[nodiscard]] std::uint32_t byte(std::size_t at) const { return std::to_integer<std::uint32_t>(bytes_[at]); }
  const std::span<const std::byte> bytes_;
};

Error bmp_fault(std::string_view what) { return image_fault("BMP", what); }

Result<void> read_masks(const Numbers& numbers, std::size_t info, std::size_t at, std::size_t size,
                        std::uint32_t compression, BmpHeader& out) {
  const bool given = compression == with_masks || compression == with_alpha_mask;
  if (!given) {
    if (out.bits == 16) out.masks = {{{0x7C00, 10}, {0x03E0, 5}, {0x001F, 0}, {}}};
    if (out.bits == 32) out.masks = {{{0xFF0000, 16}, {0xFF00, 8}, {0xFF, 0}, {}}};
    return {};
  }
  if (out.bits != 16 && out.bits != 32) return bmp_fault(fmt::format("masks of pixels of {} bits", out.bits));
  const std::size_t count = info >= 56 || compression == with_alpha_mask ? 4 : 3;
  if (size < at + count * 4) return bmp_fault("it ends early");
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = numbers.four(at + i * 4);
    out.masks[i] = {.bits = bits, .shift = bits == 0 ? 0 : std::countr_zero(bits)};
  }
  return {};
}

/// The table of colors, which begins at `at`.
Result<void> read_colors(std::span<const std::byte> bytes, std::size_t at, std::uint32_t named, bool core,
                         BmpHeader& out) {
  if (out.bits > 8) return {};
  const std::size_t most = std::size_t{1} << out.bits;
  std::size_t count = named == 0 ? most : named;
  const std::size_t entry = core ? 3 : 4;
  if (count > most) return bmp_fault(fmt::format("{} colors for pixels of {} bits", count, out.bits));
  if (at > out.pixels || bytes.size() < at) return bmp_fault("its pixels begin inside of its headers");
  count = std::min(count, (std::min<std::size_t>(out.pixels, bytes.size()) - at) / entry);
  const auto byte = [&](std::size_t place) { return std::to_integer<std::uint8_t>(bytes[place]); };
  for (std::size_t i = 0; i < count; ++i, at += entry)
    out.colors.push_back({byte(at + 2), byte(at + 1), byte(at)});  // stored as blue, green, red
  return {};
}

Result<void> read_form(std::uint32_t compression, BmpHeader& out) {
  constexpr std::array known_bits{1, 4, 8, 16, 24, 32};
  if (std::ranges::find(known_bits, out.bits) == known_bits.end())
    return bmp_fault(fmt::format("pixels of {} bits; 1, 4, 8, 16, 24 and 32 are known", out.bits));
  if (compression == runs_of_8) out.run_bits = 8;
  if (compression == runs_of_4) out.run_bits = 4;
  const bool known = compression <= with_masks || compression == with_alpha_mask;
  if (!known) return bmp_fault(fmt::format("compression {} is not known", compression));
  if (out.run_bits != 0 && out.run_bits != out.bits)
    return bmp_fault(fmt::format("runs of {} bits with pixels of {} bits", out.run_bits, out.bits));
  if (out.run_bits != 0 && out.top_down) return bmp_fault("runs from the top down");
  return {};
}

Result<void> check_sizes(std::span<const std::byte> bytes, std::int64_t width, std::int64_t height, BmpHeader& out) {
  if (width < 1 || height == 0) return bmp_fault(fmt::format("a size of {} x {} pixels", width, height));
  out.width = width;
  out.height = height < 0 ? -height : height;
  out.top_down = height < 0;
  if (out.pixels > bytes.size()) return bmp_fault("its pixels begin after its end");
  return {};
}

/// Rows must be there in full. Both factors are below 2^36, so the product is computed in steps.
Result<void> check_rows(std::span<const std::byte> bytes, BmpHeader& out) {
  if (out.run_bits != 0) return {};
  out.row_bytes = (static_cast<std::uint64_t>(out.width) * static_cast<std::uint64_t>(out.bits) + 31) / 32 * 4;
  if ((bytes.size() - out.pixels) / out.row_bytes < static_cast<std::uint64_t>(out.height)) {
    return bmp_fault(fmt::format("it ends early: {} rows of {} bytes do not fit into the {} bytes after the headers",
                                 out.height, out.row_bytes, bytes.size() - out.pixels));
  }
  return {};
}

}  // namespace

Result<BmpHeader> read_bmp_header(std::span<const std::byte> bytes) {
  const Numbers numbers{bytes};
  if (bytes.size() < file_header + 12) return bmp_fault("it ends early");
  BmpHeader out{.pixels = numbers.four(10)};
  const std::size_t info = numbers.four(file_header);
  const bool core = info == 12;
  if (!core && (info < 40 || info > 256)) return bmp_fault(fmt::format("a header of {} bytes is not known", info));
  if (bytes.size() < file_header + info) return bmp_fault("it ends early");
  const auto side = [&](std::size_t at) { return std::int64_t{static_cast<std::int32_t>(numbers.four(at))}; };
  const std::int64_t width = core ? numbers.two(18) : side(18);
  const std::int64_t height = core ? numbers.two(20) : side(22);
  out.bits = static_cast<int>(numbers.two(core ? 24 : 28));
  FOREBAY_DO(check_sizes(bytes, width, height, out));
  const std::uint32_t compression = core ? no_compression : numbers.four(30);
  FOREBAY_DO(read_form(compression, out));
  // Headers of 40 bytes have the masks after them, larger ones inside; both are at the same place.
  constexpr std::size_t masks_at = file_header + 40;
  FOREBAY_DO(read_masks(numbers, info, masks_at, bytes.size(), compression, out));
  std::size_t colors_at = file_header + info;
  if (info == 40 && (compression == with_masks || compression == with_alpha_mask))
    colors_at += compression == with_masks ? 12 : 16;
  FOREBAY_DO(read_colors(bytes, colors_at, core ? 0 : numbers.four(46), core, out));
  FOREBAY_DO(check_rows(bytes, out));
  return out;
}

namespace {

/// Where the next pixel of the runs goes.
class RunWriter {
 public:
  RunWriter(const BmpHeader& header, std::span<std::uint8_t> out) : header_{header}, out_{out} {}

  [[nodiscard]] bool fits(std::uint32_t count) const {
    return y_ < header_.height && static_cast<std::int64_t>(count) <= header_.width - x_;
  }
  void put(std::uint8_t pixel) { out_[static_cast<std::size_t>(y_ * header_.width + x_++)] = pixel; }
  void next_row() { x_ = 0, ++y_; }
  bool move(std::uint32_t right, std::uint32_t up) {
    x_ += right, y_ += up;
    return x_ <= header_.width && y_ <= header_.height;
  }

 private:
  const BmpHeader& header_;
  const std::span<std::uint8_t> out_;
  std::int64_t x_ = 0, y_ = 0;
};

std::uint8_t pixel_of(std::uint32_t byte, std::uint32_t place, bool half) {
  if (!half) return static_cast<std::uint8_t>(byte);
  return static_cast<std::uint8_t>(place % 2 == 0 ? byte >> 4 : byte & 15);
}

}  // namespace

Result<void> read_bmp_runs(std::span<const std::byte> bytes, const BmpHeader& header, std::span<std::uint8_t> out) {
  const bool half = header.run_bits == 4;
  RunWriter writer{header, out};
  std::size_t at = header.pixels;
  const auto byte = [&](std::size_t place) { return std::to_integer<std::uint32_t>(bytes[place]); };
  while (bytes.size() - at >= 2) {
    const std::uint32_t count = byte(at), what = byte(at + 1);
    at += 2;
    if (count > 0) {
      if (!writer.fits(count)) return bmp_fault("a run leaves the image");
      for (std::uint32_t i = 0; i < count; ++i) writer.put(pixel_of(what, i, half));
    } else if (what == 0) {
      writer.next_row();
    } else if (what == 1) {
      return {};
    } else if (what == 2) {
      if (bytes.size() - at < 2) break;
      if (!writer.move(byte(at), byte(at + 1))) return bmp_fault("a run leaves the image");
      at += 2;
    } else {
      const std::size_t size = half ? (what + 1) / 2 : what;
      if (bytes.size() - at < size) break;
      if (!writer.fits(what)) return bmp_fault("a run leaves the image");
      for (std::uint32_t i = 0; i < what; ++i) writer.put(pixel_of(byte(at + (half ? i / 2 : i)), i, half));
      at += std::min(bytes.size() - at, size + size % 2);
    }
  }
  return bmp_fault("it ends early");
}

}  // namespace forebay::steps
