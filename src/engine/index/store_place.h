// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace forebay::engine {

/// The name of a store in its folder. A store of another version has another name.
inline constexpr std::string_view store_name = "index-v1";

/// A place of the store of one data folder.
struct StorePlace {
  std::string path;                     ///< Of the store; its folder holds nothing else.
  io::Links links = io::Links::follow;  ///< For reading. A store is never written through a link.

  auto operator<=>(const StorePlace&) const = default;
};

/// The places for the indexes of a data file, the preferred one first: `.forebay/index-v1` in the folder of the file,
/// then `H/index-v1` in `$FOREBAY_CACHE`, else in `$XDG_CACHE_HOME/forebay`, else in `~/.cache/forebay`. H is the hash
/// of the real path of the folder of the file. Those of a file of another machine are never beside it. Relative paths
/// are ignored. `index_dir`, unless it is empty, is the only place. Creates nothing.
[[nodiscard]] std::vector<StorePlace> places_of(const std::string& file, const std::string& index_dir);

}  // namespace forebay::engine
