// SPDX-License-Identifier: Apache-2.0
#include "engine/index/source_sizes.h"

#include <fmt/core.h>

#include "io/file.h"
#include "io/identity.h"

namespace forebay::engine {

namespace {

std::int64_t rows_of_part(const RowPart& part) { return part.rows ? part.rows->rows : 0; }

}  // namespace

SourceSizes inspect(const Source& source) {
  SourceSizes out;
  std::string sizes;
  for (std::size_t i = 0; i < source.files.size(); ++i) {
    const Result<std::int64_t> size =
        source.rows ? rows_of_part(source.rows->parts[i]) : io::file_size(source.files[i]);
    sizes += size.ok() ? fmt::format("{} ", *size) : "- ";
    if (!size.ok()) continue;
    ++out.files;
    out.bytes += *size;
  }
  out.digest = io::fnv1a(std::as_bytes(std::span{sizes}));
  return out;
}

}  // namespace forebay::engine
