// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/content.h"

#include <algorithm>

#include <fmt/core.h>

#include "io/awaited_file.h"
#include "io/inflate.h"
#include "sources/detect.h"
#include "sources/source_files.h"
#include "sources/stored/bytes_as_file.h"

namespace forebay::sources {
namespace {

constexpr std::size_t magic_bytes = 64;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// Fills `out` with the next bytes of content. Returns their number: fewer at the end.
Result<std::size_t> inflate(io::Inflater& inflater, const io::RandomAccessFile& file, std::span<std::byte> out) {
  std::size_t size = 0;
  while (size < out.size() && !inflater.ended()) {
    FOREBAY_TRY(const std::size_t got, inflater.read(file, out.subspan(size)));
    size += got;
  }
  return size;
}

Result<FileHead> read_head(const io::RandomAccessFile& file, Compression compression, std::size_t count) {
  FileHead out{.compression = compression, .size = file.size()};
  out.bytes.resize(std::max(count, magic_bytes));
  FOREBAY_TRY(std::size_t size, file.read(out.bytes, 0));
  if (compression == Compression::automatic)
    out.compression = compression_by_magic(std::span{out.bytes}.first(std::min(size, magic_bytes)));
  if (out.compression != Compression::none) {
    FOREBAY_TRY(io::Inflater inflater, io::Inflater::make(out.compression));
    FOREBAY_TRY(size, inflate(inflater, file, std::span{out.bytes}.first(count)));
  }
  out.bytes.resize(std::min(size, count));
  return out;
}

Result<std::int64_t> count_content(const io::RandomAccessFile& file, Compression compression, std::int64_t max_bytes) {
  FOREBAY_TRY(io::Inflater inflater, io::Inflater::make(compression));
  inflater.limit(max_bytes);
  std::vector<std::byte> piece(piece_bytes);
  std::int64_t out = 0;
  while (!inflater.ended()) {
    FOREBAY_TRY(const std::size_t got, inflater.read(file, piece));
    out += static_cast<std::int64_t>(got);
    if (out > max_bytes) return more_than_max_bytes(max_bytes);
  }
  FOREBAY_DO(file.unchanged());
  return out;
}

Error changed() {
  return {Code::data, Detail::failed_precondition,
          "the file is not the one that was planned: its size or its header is another; leave files alone while they "
          "are read"};
}

Result<Content> decompressed(const StoredContent& content, std::span<const std::byte> file, PartFiles& run) {
  FOREBAY_TRY(const std::shared_ptr<std::byte> memory, run.memory(content.bytes));
  const std::span<std::byte> out{memory.get(), static_cast<std::size_t>(content.bytes)};
  FOREBAY_TRY(io::Inflater inflater, io::Inflater::make(content.compression));
  const BytesAsFile bytes{content.path, file};
  std::size_t size = 0;
  while (size < out.size() && !inflater.ended()) {
    run.look();
    FOREBAY_TRY(const std::size_t got,
                inflate(inflater, bytes, out.subspan(size, std::min(piece_bytes, out.size() - size))));
    size += got;
  }
  std::byte beyond{};
  FOREBAY_TRY(const std::size_t more, inflate(inflater, bytes, {&beyond, 1}));
  if (size == out.size() && more == 0) return Content{.owner = memory, .bytes = out};
  return Error{
      Code::data, Detail::data_loss,
      fmt::format("the header names {} bytes of numbers, but the file has {}{}", out.size() - content.header.size(),
                  more > 0 ? "more than " : "", size - std::min(size, content.header.size()))};
}

Result<Content> open_here(const StoredContent& content, PartFiles& run) {
  FOREBAY_TRY(const PartFiles::Bytes file, run.map(content.path));
  if (std::ssize(file.bytes) != content.file_bytes) return changed();
  Content out{.owner = file.owner, .bytes = file.bytes};
  if (content.member) {
    FOREBAY_TRY(out, zip_content(*content.member, content.path, out, run));
  } else if (content.compression != Compression::none) {
    FOREBAY_TRY(out, decompressed(content, file.bytes, run));
  }
  const bool same = out.bytes.size() >= content.header.size() &&
                    std::equal(content.header.begin(), content.header.end(), out.bytes.begin());
  if (!same) return changed();
  return out;
}

}  // namespace

Error more_than_max_bytes(std::int64_t max_bytes) {
  return {
      Code::data, Detail::resource_exhausted,
      fmt::format("the content has more than {} bytes, which is max_bytes; raise it if that is no mistake", max_bytes)};
}

Result<FileHead> head_of(const std::string& path, Compression compression, std::size_t count,
                         const BindContext& context) {
  FOREBAY_TRY(const auto file, open_to_plan(path, context));
  return read_head(io::AwaitedFile{*file}, compression, count).at(Place{.file = path});
}

Result<std::int64_t> size_of_content(const std::string& path, Compression compression, std::int64_t max_bytes,
                                     const BindContext& context) {
  FOREBAY_TRY(const auto file, open_to_plan(path, context));
  return count_content(io::AwaitedFile{*file}, compression, max_bytes).at(Place{.file = path});
}

Result<Content> open_content(const StoredContent& content, PartFiles& run) {
  return open_here(content, run).at(Place{.file = content.path});
}

}  // namespace forebay::sources
