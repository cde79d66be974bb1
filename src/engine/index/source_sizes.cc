// SPDX-License-Identifier: Apache-2.0
#include "engine/index/source_sizes.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "engine/memory/each_file.h"
#include "engine/read/file_versions.h"
#include "io/file.h"
#include "io/identity.h"

namespace forebay::engine {

namespace {

constexpr std::size_t files_a_piece = 1024;
constexpr std::int64_t threads_asking = 8;  // a network file system answers several questions in the time of one

}  // namespace

SourceSizes summary(std::span<const std::int64_t> sizes) {
  SourceSizes out;
  std::string text;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      text += "- ";
      continue;
    }
    fmt::format_to(std::back_inserter(text), "{} ", size);
    ++out.files;
    out.bytes += size;
  }
  out.digest = io::fnv1a(std::as_bytes(std::span{text}));
  return out;
}

void ask_sizes(const Source& source, std::span<std::int64_t> sizes) {
  if (source.rows) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto& rows = source.rows->parts[i].rows;
      sizes[i] = rows ? rows->rows : 0;
    }
    return;
  }
  const std::vector<std::string>& files = source.files;
  const auto piece = [&](std::size_t number) {
    const std::size_t end = std::min(files.size(), (number + 1) * files_a_piece);
    for (std::size_t i = number * files_a_piece; i < end; ++i) {
      if (sizes[i] != unknown_size) continue;
      const auto size = io::file_size(files[i]);
      sizes[i] = size.ok() ? *size : missing_file;
    }
  };
  const std::size_t pieces = (files.size() + files_a_piece - 1) / files_a_piece;
  if (pieces == 1) return piece(0);
  static_cast<void>(each_file(
      {.files = pieces, .threads = threads_asking}, [&](std::size_t number, const std::stop_token&) { piece(number); },
      [] { return true; }));
}

std::vector<std::int64_t> ask_sizes(const Source& source) {
  std::vector<std::int64_t> out(source.files.size(), unknown_size);
  ask_sizes(source, out);
  return out;
}

}  // namespace forebay::engine
