// SPDX-License-Identifier: Apache-2.0
#include "engine/index/source_sizes.h"

#include <fmt/core.h>

#include "io/file.h"
#include "io/identity.h"

namespace forebay::engine {

SourceSizes inspect(std::span<const std::string> files) {
  SourceSizes out;
  std::string sizes;
  for (const std::string& path : files) {
    const auto size = io::file_size(path);
    sizes += size.ok() ? fmt::format("{} ", *size) : "- ";
    if (!size.ok()) continue;
    ++out.files;
    out.bytes += *size;
  }
  out.digest = io::fnv1a(std::as_bytes(std::span{sizes}));
  return out;
}

}  // namespace forebay::engine
