// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <forebay/error.h>

#include "io/file.h"

namespace forebay::engine {

/// Where the index of a file may be: beside it, or in a folder of this user.
struct IndexPlace {
  std::string path;
  io::Links links = io::Links::follow;  ///< When it is read; to write, a link is always replaced.
};

[[nodiscard]] IndexPlace beside(const std::string& file);
/// In `$FOREBAY_CACHE`, else `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`, named by the file's real path; an
/// empty path when there is no such folder. Relative ones are not taken. Nothing is made.
[[nodiscard]] IndexPlace in_cache(const std::string& file);

/// Stores an index beside its file, or in the cache folder (which is made) when there no file can be made. The index
/// appears whole or not at all, and nobody may read it who may not read the file. Gives back where it is.
[[nodiscard]] Result<std::string> store_index(const std::string& file, std::span<const std::byte> image);

}  // namespace forebay::engine
