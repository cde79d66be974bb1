// SPDX-License-Identifier: Apache-2.0
#include "engine/index/index_place.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/core.h>

#include "io/atomic_file.h"
#include "io/folder.h"
#include "io/identity.h"
#include "io/paths.h"

namespace forebay::engine {
namespace {

constexpr std::size_t piece_bytes = 256 * 1024;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT: no code sets variables while threads run
  return value == nullptr ? std::string{} : std::string{value};
}

std::string cache_folder() {
  if (std::string own = variable("FOREBAY_CACHE"); own.starts_with('/')) return own;
  if (const std::string shared = variable("XDG_CACHE_HOME"); shared.starts_with('/')) return shared + "/forebay";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/forebay";
  return {};
}

Result<std::string> write(const IndexPlace& place, const std::string& file, std::span<const std::byte> image) {
  // A symbolic link at this path may lead to any other file, which the index must not replace.
  FOREBAY_TRY(io::AtomicFile out, io::AtomicFile::create(place.path, io::Links::refuse));
  FOREBAY_DO(out.permit_no_more_than(file));  // an index holds content of the file: the histories
  for (std::size_t at = 0; at < image.size(); at += piece_bytes) {
    FOREBAY_DO(out.write(image.subspan(at, std::min(piece_bytes, image.size() - at))));
  }
  FOREBAY_DO(out.commit());
  return place.path;
}

}  // namespace

IndexPlace beside(const std::string& file) {
  return {.path = file + std::string{io::index_suffix}, .links = io::Links::follow};
}

IndexPlace in_cache(const std::string& file) {
  const std::string folder = cache_folder();
  const auto real = io::real_path(file);
  if (folder.empty() || !real.ok()) return {};
  return {
      .path = fmt::format("{}/index-{:016x}{}", folder, io::fnv1a(std::as_bytes(std::span{*real})), io::index_suffix),
      .links = io::Links::refuse};
}

Result<std::string> store_index(const std::string& file, std::span<const std::byte> image) {
  auto stored = write(beside(file), file, image);
  if (stored.ok() || stored.error().detail() != Detail::permission_denied) return stored;
  const IndexPlace place = in_cache(file);
  if (place.path.empty()) return stored.error().at("no cache folder either ($FOREBAY_CACHE, $HOME)");
  FOREBAY_DO(io::make_private_folder(io::parent(place.path)));
  return write(place, file, image);
}

}  // namespace forebay::engine
