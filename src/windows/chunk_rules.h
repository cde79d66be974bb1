// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forebay/error.h>
#include <forebay/windows/chunk.h>

/// How many chunks a sequence has, and which keys are given whole. All of it is arithmetic on lengths: a sequence of
/// any length takes the same time.
namespace forebay::windows {

/// The numbers of one key.
struct ChunkKey {
  std::string name;
  std::int64_t size = 1;
  std::int64_t step = 1;  ///< 0: each chunk gets the whole key.
  std::int64_t min_size = 0;
  bool step_stated = false;  ///< The options name the step of this key.
};

/// Shortens sizes and steps by one random factor from 1 - `variance` to 1, drawn from `bits`. The keys whose size and
/// step are multiples of those of the key with the smallest step stay such multiples.
void vary(const std::vector<ChunkKey>& keys, double variance, std::uint64_t bits, std::vector<ChunkKey>& out);

/// The chunks of one sequence.
struct Chunks {
  std::int64_t count = 0;
  std::vector<bool> whole;  ///< By key: every chunk gets all of its frames.
};

/// Sets `out` for a sequence with these lengths by key. `lead` is the key whose length counts where others are whole.
/// Fails when the keys do not fit each other; the message names them.
[[nodiscard]] Result<void> count_chunks(const Chunk& options, const std::vector<ChunkKey>& keys, std::size_t lead,
                                        std::span<const std::int64_t> lengths, Chunks& out);

}  // namespace forebay::windows
