// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/plugin.h>

namespace forebay::plan {

/// One form for all pipeline documents that give the same stream: every option is written out, in the order of its
/// description; what only concerns the run (threads, memory, prefetch) is left out.
[[nodiscard]] Json canonical(const Json& document, const Registry& registry);

/// What decides the stream, in parts that can be named when one has changed: "source", "decode", "steps/0 (shuffle)",
/// …, a few dozen at most. Takes a canonical document. Folders of files are left out: the same files may have moved.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> sections(const Json& canonical);

/// FNV-1a, 64 bits.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace forebay::plan
