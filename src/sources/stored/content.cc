// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/content.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

#include "io/file.h"
#include "io/inflate.h"
#include "sources/detect.h"

namespace forebay::sources {
namespace {

constexpr std::size_t magic_bytes = 64;
constexpr std::size_t first_content = std::size_t{1} << 20;

Error too_large(std::int64_t max_bytes) {
  return {
      Code::data, Detail::resource_exhausted,
      fmt::format("the content has more than {} bytes, which is max_bytes; raise it if that is no mistake", max_bytes)};
}

Result<Content> plain_content(const io::File& file) {
  const auto size = static_cast<std::size_t>(file.size());
  const std::shared_ptr<std::byte[]> memory = std::make_unique_for_overwrite<std::byte[]>(size);
  FOREBAY_TRY(const std::size_t got, file.read({memory.get(), size}, 0));
  if (got < size) return Error{Code::data, Detail::failed_precondition, "the file was cut short while it was read"};
  return Content{.owner = memory, .bytes = {memory.get(), size}};
}

Result<Content> decompressed_content(const io::File& file, Compression compression, std::int64_t max_bytes) {
  FOREBAY_TRY(io::Inflater inflater, io::Inflater::make(compression));
  auto memory = std::make_shared<std::vector<std::byte>>();
  std::size_t size = 0;
  while (!inflater.ended()) {
    if (size == memory->size()) memory->resize(std::max(first_content, 2 * size));
    FOREBAY_TRY(const std::size_t got, inflater.read(file, std::span{*memory}.subspan(size)));
    size += got;
    if (static_cast<std::int64_t>(size) > max_bytes) return too_large(max_bytes);
  }
  memory->resize(size);
  memory->shrink_to_fit();
  return Content{.owner = memory, .bytes = *memory};
}

Result<Content> read_content(const std::string& path, std::int64_t max_bytes) {
  FOREBAY_TRY(const io::File file, io::File::open(path));
  std::array<std::byte, magic_bytes> head{};
  FOREBAY_TRY(const std::size_t size, file.read(head, 0));
  const Compression compression = compression_by_magic(std::span{head}.first(size));
  if (compression == Compression::none && file.size() > max_bytes) return too_large(max_bytes);
  FOREBAY_TRY(Content content, compression == Compression::none ? plain_content(file)
                                                                : decompressed_content(file, compression, max_bytes));
  FOREBAY_DO(file.unchanged());
  return content;
}

}  // namespace

Result<Content> content_of(const std::string& path, std::int64_t max_bytes) {
  return read_content(path, max_bytes).at(Place{.file = path});
}

}  // namespace forebay::sources
