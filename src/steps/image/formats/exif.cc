// SPDX-License-Identifier: Apache-2.0
#include "steps/image/formats/exif.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace forebay::steps {

namespace {

/// Reads numbers of EXIF data (a TIFF file). A number outside of the bytes is empty.
class TiffBytes {
 public:
  explicit TiffBytes(std::span<const std::byte> bytes) : bytes_{bytes} {
    if (bytes.size() < 8) return;
    little_ = std::memcmp(bytes.data(), "II*\0", 4) == 0;
    known_ = little_ || std::memcmp(bytes.data(), "MM\0*", 4) == 0;
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < size; ++i)
      out = (out << 8) | std::to_integer<std::uint32_t>(bytes_[at + (little_ ? size - 1 - i : i)]);
    return out;
  }

 private:
  const std::span<const std::byte> bytes_;
  bool known_ = false;
  bool little_ = false;
};

constexpr std::string_view exif_name{"Exif\0\0", 6};

bool begins_exif(std::span<const std::byte> content) {
  return content.size() > exif_name.size() && std::memcmp(content.data(), exif_name.data(), exif_name.size()) == 0;
}

/// The orientation in the first directory of EXIF data.
std::optional<int> orientation_of(std::span<const std::byte> exif) {
  constexpr std::uint32_t orientation_tag = 0x0112;
  constexpr std::size_t entry_bytes = 12;
  const TiffBytes tiff{exif};
  if (!tiff.known()) return std::nullopt;
  const auto directory = tiff.number(4, 4);
  const auto entries = directory ? tiff.number(*directory, 2) : std::nullopt;
  for (std::size_t i = 0; entries && i < *entries; ++i) {
    const std::size_t entry = *directory + 2 + i * entry_bytes;
    const auto tag = tiff.number(entry, 2);
    if (!tag) return std::nullopt;
    if (*tag != orientation_tag) continue;
    const auto value = tiff.number(entry + 8, 2);
    return value && *value >= 1 && *value <= 8 ? std::optional{static_cast<int>(*value)} : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

int orientation_in(std::span<const std::byte> exif) { return orientation_of(exif).value_or(1); }

int exif_orientation(std::span<const std::byte> jpeg) {
  const auto byte = [&](std::size_t at) { return std::to_integer<std::size_t>(jpeg[at]); };
  // Segments of the header: FF, marker, length of what follows (with these two bytes), content. Before a marker there
  // may be more FF, and bytes that belong to nothing: libjpeg passes over both.
  for (std::size_t at = 2; at + 4 <= jpeg.size();) {
    if (byte(at) != 0xFF || byte(at + 1) == 0xFF || byte(at + 1) == 0) {
      ++at;
      continue;
    }
    const std::size_t marker = byte(at + 1);
    const std::size_t length = byte(at + 2) << 8 | byte(at + 3);
    if (marker == 0xDA || length < 2 || jpeg.size() - at - 2 < length) break;
    auto content = jpeg.subspan(at + 4, length - 2);
    if (marker == 0xE1 && begins_exif(content)) {
      while (begins_exif(content)) content = content.subspan(exif_name.size());  // some writers say it twice
      return orientation_in(content);
    }
    at += 2 + length;
  }
  return 1;
}

}  // namespace forebay::steps
