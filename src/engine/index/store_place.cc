// SPDX-License-Identifier: Apache-2.0
#include "engine/index/store_place.h"

#include <cstdlib>
#include <span>

#include <fmt/core.h>

#include "io/folder.h"
#include "io/identity.h"
#include "io/paths.h"
#include "stores/registry.h"

namespace forebay::engine {
namespace {

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

/// The place for the files of `data` in a folder that has the stores of several data folders. local: `data` is a folder
/// of this machine.
std::vector<StorePlace> place_in(const std::string& folder, const std::string& data, bool local) {
  const auto real = local ? io::real_path(data) : Result<std::string>{data};
  if (folder.empty() || !real.ok()) return {};
  const std::uint64_t hash = io::fnv1a(std::as_bytes(std::span{*real}));
  return {{.path = fmt::format("{}/{:016x}/{}", folder, hash, store_name), .links = io::Links::refuse}};
}

}  // namespace

std::vector<StorePlace> places_of(const std::string& file, const std::string& index_dir) {
  const std::string parent = io::parent(file);
  const std::string folder = parent.empty() ? "." : parent;
  const bool local = stores::file_system_of(file) == nullptr;  // not of its folder: that of scheme://file is no path
  if (!index_dir.empty()) return place_in(index_dir, folder, local);
  std::vector<StorePlace> out;
  if (local) out.push_back({.path = fmt::format("{}/{}/{}", folder, io::store_folder, store_name)});
  for (StorePlace& cached : place_in(cache_folder(), folder, local)) out.push_back(std::move(cached));
  return out;
}

}  // namespace forebay::engine
