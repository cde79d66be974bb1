// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <forebay/error.h>

#include "io/file.h"

namespace forebay::engine {

/// A place of an index: beside its file, or in the cache folder of the user.
struct IndexPlace {
  std::string path;
  io::Links links = io::Links::follow;  ///< For reading. Writing always replaces a link.
};

[[nodiscard]] IndexPlace beside(const std::string& file);
/// The place in `$FOREBAY_CACHE`, else `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`, named by the file's real
/// path; an empty path when none of them is set. Relative paths are ignored. Creates nothing.
[[nodiscard]] IndexPlace in_cache(const std::string& file);

/// Stores an index beside its file; if no file can be created there, in the cache folder, which is created. The index
/// appears whole or not at all, and only users who may read the file may read it. Returns its path.
[[nodiscard]] Result<std::string> store_index(const std::string& file, std::span<const std::byte> image);

}  // namespace forebay::engine
