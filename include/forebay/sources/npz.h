// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// Reads npz files of numpy: each array of the archive is a tensor, and they are read row by row. Otherwise as `npy`.
/// Members are stored or deflated, as numpy writes them; their checksums are verified. Archives whose members overlap,
/// are encrypted, or have other sizes than they say are refused.
struct Npz {
  Paths files;                                      ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  std::vector<std::string> arrays = {};             ///< The arrays to read; empty: all of the first file.
  std::int64_t max_bytes = std::int64_t{64} << 30;  ///< More bytes of arrays in all files together are an error.
};

}  // namespace forebay
