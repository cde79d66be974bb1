// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/core.h>

#include "steps/image/formats/image_reader.h"

namespace forebay::steps {

namespace {

struct FileKind {
  std::string_view begin;  // '?' stands for any byte
  std::string_view name;
};

using namespace std::string_view_literals;

constexpr std::array<FileKind, 6> decoded_kinds{{{"\xFF\xD8"sv, "JPEG"},
                                                 {"\x89PNG\r\n\x1A\n"sv, "PNG"},
                                                 {"GIF87a"sv, "GIF"},
                                                 {"GIF89a"sv, "GIF"},
                                                 {"BM"sv, "BMP"},
                                                 {"RIFF????WEBP"sv, "WebP"}}};
constexpr std::array<ImageFormat, 6> formats_of_kinds{ImageFormat::jpeg, ImageFormat::png, ImageFormat::gif,
                                                      ImageFormat::gif,  ImageFormat::bmp, ImageFormat::webp};

// What is taken for images by mistake. None of it is interpreted.
constexpr std::array<FileKind, 12> other_kinds{{{"II*\0"sv, "TIFF"},
                                                {"MM\0*"sv, "TIFF"},
                                                {"????ftypavif"sv, "AVIF"},
                                                {"????ftyphei"sv, "HEIC"},
                                                {"\0\0\0\x0CjP  "sv, "JPEG 2000"},
                                                {"\0\0\0\x0CJXL "sv, "JPEG XL"},
                                                {"\xFF\x0A"sv, "JPEG XL"},
                                                {"%PDF"sv, "PDF"},
                                                {"%!PS"sv, "PostScript"},
                                                {"\x1F\x8B"sv, "gzip"},
                                                {"PK\x03\x04"sv, "zip"},
                                                {"\0\0\1\0"sv, "an icon (ICO)"}}};

bool begins_with(std::string_view text, std::string_view begin) {
  if (text.size() < begin.size()) return false;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] != '?' && begin[i] != text[i]) return false;
  }
  return true;
}

/// "HTML", "SVG" or "XML" for text of such a document, else nothing.
std::string_view markup_in(std::string_view text) {
  constexpr std::size_t looked_at = 1024;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  if (!text.starts_with('<')) return {};
  std::string lower{text.substr(0, looked_at)};
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.find("<svg") != std::string::npos) return "SVG";
  if (lower.starts_with("<!doctype html") || lower.starts_with("<html")) return "HTML";
  return lower.starts_with("<?xml") ? "XML" : "text in angle brackets";
}

std::string found_in(std::string_view text) {
  if (const std::string_view markup = markup_in(text); !markup.empty()) return fmt::format("are {}", markup);
  const auto* const kind =
      std::ranges::find_if(other_kinds, [&](const FileKind& each) { return begins_with(text, each.begin); });
  if (kind != other_kinds.end()) return fmt::format("are {}", kind->name);
  std::string first;
  for (const char byte : text.substr(0, 8))
    first += fmt::format("{}{:02X}", first.empty() ? "" : " ", static_cast<unsigned char>(byte));
  return fmt::format("begin with {}", first);
}

}  // namespace

std::string_view to_string(ImageFormat format) {
  constexpr std::array<std::string_view, image_formats> names{"JPEG", "PNG", "GIF", "BMP", "WebP"};
  return names[static_cast<std::size_t>(format)];
}

Error image_fault(std::string_view format, std::string_view what) {
  return {Code::data, Detail::data_loss, fmt::format("not an intact {}: {}", format, what)};
}

Result<ImageFormat> format_of(std::span<const std::byte> bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  for (std::size_t i = 0; i < decoded_kinds.size(); ++i) {
    if (begins_with(text, decoded_kinds[i].begin)) return formats_of_kinds[i];
  }
  if (text.empty()) return Error{Code::data, Detail::data_loss, "not an image: there are no bytes"};
  return Error{Code::data, Detail::data_loss,
               fmt::format("not an image that can be decoded: the bytes {}; JPEG, PNG, GIF, BMP and WebP can be",
                           found_in(text))};
}

std::unique_ptr<ImageReader> make_image_reader(ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg:
      return make_jpeg_reader();
    case ImageFormat::png:
      return make_png_reader();
    case ImageFormat::gif:
      return make_gif_reader();
    case ImageFormat::bmp:
      return make_bmp_reader();
    case ImageFormat::webp:
      return make_webp_reader();
  }
  return nullptr;
}

}  // namespace forebay::steps
