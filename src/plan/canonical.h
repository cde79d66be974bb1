// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/plugin.h>

#include "engine/program/plan_access.h"

namespace forebay::plan {

using engine::FilesPlace;

/// Returns the document with empty lists of data files.
[[nodiscard]] Json without_files(const Json& document, const FilesPlace& where);

/// The hashes of a document in its canonical form: every option is written out, in the order of the descriptions, and
/// the options of a run (threads, memory, prefetch, shard) are left out. Documents that give the same stream have equal
/// hashes.
struct Hashes {
  std::uint64_t whole = 0;
  /// The hashes of the parts that decide the stream, a few dozen at most: "source", "decode", "steps/0 (shuffle)", ….
  /// They tell which part has changed. `epochs` and the files of the source are left out: a run may be lengthened, and
  /// a state compares the files themselves.
  std::vector<std::pair<std::string, std::uint64_t>> sections;
};
/// Hashes the document with `files` in place of what its source lists. There may be millions, so no Json is made of
/// them. Those of branches are left out.
[[nodiscard]] Hashes hashes_of(const Json& document, const FilesPlace& where, std::span<const std::string> files,
                               const Registry& registry);

/// The hash of one stage of a document ({"name": {options}}) in its canonical form.
[[nodiscard]] std::uint64_t stage_hash(const Json& json, const Registry& registry);

/// FNV-1a, 64 bits.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace forebay::plan
