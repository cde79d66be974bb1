// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/plugin.h>

namespace forebay {

/// Reads whole files: each is one record, whose key is its path. An order of files moves parts of 4,096 files.
struct WholeFile {
  Paths files;                            ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  std::int64_t max_file_bytes = 1 << 30;  ///< A larger file is an error, before memory is taken.
};

}  // namespace forebay
