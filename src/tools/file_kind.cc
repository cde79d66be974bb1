// SPDX-License-Identifier: Apache-2.0
#include "tools/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/tar_members.h"
#include "config/utf8.h"
#include "engine/requests/open_file.h"
#include "io/awaited_file.h"
#include "io/inflate.h"
#include "io/paths.h"
#include "sources/detect.h"
#include "tools/inspect/value_stats.h"

namespace forebay::tools {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t head_size = 64 << 10;

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span{text}); }

Result<std::string> head_of(const io::RandomAccessFile& file) {
  std::string head(head_size, '\0');
  FOREBAY_TRY(const std::size_t size, file.read(bytes_of(head), 0));
  head.resize(size);
  return head;
}

/// The beginning of the content of a compressed file.
Result<std::string> inflated_head(const io::RandomAccessFile& file, Compression compression) {
  FOREBAY_TRY(io::Inflater inflater, io::Inflater::make(compression));
  std::string head(head_size, '\0');
  std::size_t filled = 0;
  // A stream without content may pause often; after so many calls the head is what has come.
  for (int calls = 0; calls < 64 && filled < head.size() && !inflater.ended(); ++calls) {
    const auto got = inflater.read(io::AwaitedFile{file}, bytes_of(head).subspan(filled));
    if (!got.ok()) break;  // the pass over the file finds the fault and names its place
    filled += *got;
  }
  head.resize(filled);
  return head;
}

bool is_tar(std::string_view head) {
  if (head.size() < tar_block) return false;
  if (head.substr(257, 5) == "ustar") return true;
  std::string scratch;
  const TarStep step = tar_member_at(std::as_bytes(std::span{head}), 0, scratch);
  return step.what == TarStep::What::member && !step.member.name.empty();
}

/// Text: UTF-8 up to a letter that the head may cut.
bool is_text_head(std::string_view head) {
  if (head.find('\0') != std::string_view::npos) return false;
  return head.size() - config::utf8_valid_bytes(head) < 4;
}

bool is_idx(std::string_view head, std::int64_t size) {
  if (head.size() < 8 || head[0] != 0 || head[1] != 0 || head[3] < 1 || head[3] > 4) return false;
  constexpr std::string_view types = "\x08\x09\x0b\x0c\x0d\x0e";
  constexpr std::array<std::int64_t, 6> widths{1, 1, 2, 4, 4, 8};
  const std::size_t type = types.find(head[2]);
  const auto rank = static_cast<std::size_t>(head[3]);
  if (type == std::string_view::npos || head.size() < 4 + 4 * rank) return false;
  std::int64_t wanted = widths[type];
  for (std::size_t i = 0; i < 4 * rank; i += 4) {
    std::int64_t dim = 0;
    for (std::size_t k = 0; k < 4; ++k) dim = dim * 256 + static_cast<unsigned char>(head[4 + i + k]);
    if (wanted != 0 && dim > (std::int64_t{1} << 50) / wanted) return false;
    wanted *= dim;
  }
  return size < 0 || wanted + 4 + 4 * static_cast<std::int64_t>(rank) == size;
}

bool ends_in(std::string_view ending, std::initializer_list<std::string_view> choices) {
  return std::any_of(choices.begin(), choices.end(),
                     [ending](std::string_view each) { return ending.find(each) != std::string_view::npos; });
}

/// What the content shows. Of compressed content the size is not known, -1.
std::string by_content(std::string_view head, std::int64_t size) {
  if (head.starts_with("PAR1")) return FileKind::parquet;
  if (head.starts_with("ARROW1\0\0"sv)) return FileKind::arrow_file;
  if (head.starts_with("\x93NUMPY")) return "npy";
  if (sources::is_record_header(std::as_bytes(std::span{head}))) return "tfrecord";
  if (is_tar(head)) return "tar";
  if (is_idx(head, size)) return "idx";
  return {};
}

std::string by_name(std::string_view ending, std::string_view head) {
  if (ends_in(ending, {".npz"}) && head.starts_with("PK")) return "npz";
  const std::size_t format = content_format(head);
  if (format < content_formats.size() && content_formats[format] != "zip" && content_formats[format] != "gzip")
    return FileKind::media;
  if (ends_in(ending, {".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".wav", ".flac", ".ogg", ".mp3"}))
    return FileKind::media;
  if (ends_in(ending, {".tfrecord", ".tfrec"})) return "tfrecord";  // empty, or corrupt at its beginning
  if (!is_text_head(head)) return {};
  if (ends_in(ending, {".csv", ".tsv"})) return "csv";
  return head.empty() ? "" : "lines";
}

}  // namespace

std::string without_shard_number(std::string name) {
  const std::size_t of = name.rfind("-of-");
  if (of == std::string::npos) return name;
  const std::size_t first = name.find_last_not_of("0123456789", of == 0 ? 0 : of - 1);
  const std::size_t last = name.find_first_not_of("0123456789", of + 4);
  if (first != std::string::npos && first < of && name[first] == '-')
    name.erase(first, (last == std::string::npos ? name.size() : last) - first);
  return name;
}

std::string ending_of(const std::string& path) {
  std::string name = io::base_name(path);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  name = without_shard_number(std::move(name));
  std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return {};
  constexpr std::array compressed{".gz"sv, ".zst"sv, ".xz"sv, ".bz2"sv, ".zz"sv};
  if (std::find(compressed.begin(), compressed.end(), std::string_view{name}.substr(dot)) != compressed.end()) {
    const std::size_t before = name.rfind('.', dot - 1);
    if (before != std::string::npos && before != 0) dot = before;
  }
  return name.substr(dot);
}

Result<FileKind> kind_of_file(const std::string& path) {
  FOREBAY_TRY(const auto opened, engine::open_file(path));
  const io::RandomAccessFile& file = *opened;
  FOREBAY_TRY(std::string head, head_of(file));
  const std::string ending = ending_of(path);
  FileKind out{.source = by_content(head, file.size())};
  if (!out.source.empty()) {
    out.head = std::move(head);
    return out;
  }
  const Compression compression =
      sources::detect_tfrecord(std::as_bytes(std::span{head}).first(std::min<std::size_t>(head.size(), 16)));
  if (compression != Compression::none) {
    FOREBAY_TRY(std::string content, inflated_head(file, compression));
    // Two bytes that look like zlib data may begin anything; only records are compressed that way.
    if (compression != Compression::zlib || sources::is_record_header(std::as_bytes(std::span{content}))) {
      head = std::move(content);
      out.source = by_content(head, -1);
    }
  }
  if (out.source.empty()) out.source = by_name(ending, head);
  if (out.source.empty()) {
    const std::string_view known = sources::file_kind(std::as_bytes(std::span{head}));
    out.why = known.empty() ? head.empty() ? "an empty file" : "in no format that is known" : std::string{known};
  }
  out.head = std::move(head);
  return out;
}

}  // namespace forebay::tools
