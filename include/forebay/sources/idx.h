// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// Reads IDX files, the format of MNIST, row by row of their first axis: rows that come ready, so the document has no
/// `decode`. The types and sizes are those of the headers, which must fit the files. The plan reads
/// headers; a run maps the files, and decompresses compressed ones into its memory budget.
struct Idx {
  /// The files of each tensor, by its name; file k of each one has the same number of rows.
  std::vector<std::pair<std::string, Paths>> arrays;
  std::int64_t max_bytes = std::int64_t{64} << 30;  ///< More bytes of content in all files together are an error.
};

}  // namespace forebay
