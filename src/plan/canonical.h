// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/plugin.h>

namespace forebay::plan {

/// A pipeline document with every option written out, in the order of the descriptions, and without the options of a
/// run (threads, memory, prefetch, shard). Documents that give the same stream have the same canonical form.
[[nodiscard]] Json canonical(const Json& document, const Registry& registry);

/// Hashes of the parts of a canonical document that decide the stream, a few dozen at most: "source", "decode",
/// "steps/0 (shuffle)", …. They tell which part has changed. `epochs` and the files of the source are left out: a run
/// may be lengthened, and a state compares the files themselves.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> sections(const Json& canonical,
                                                                          const Registry& registry);

/// FNV-1a, 64 bits.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace forebay::plan
