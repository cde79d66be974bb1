// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// Reads npy files of numpy, row by row of their first axis: rows that come ready, so the document has no `decode`. Any
/// order of bytes and of axes is read; arrays of objects, which are pickles, are refused, and a header is never
/// evaluated. The plan reads headers; a run maps the files, and decompresses compressed ones into its memory budget.
struct Npy {
  /// The files of each tensor, by its name; file k of each one has the same number of rows.
  std::vector<std::pair<std::string, Paths>> arrays;
  std::int64_t max_bytes = std::int64_t{64} << 30;  ///< More bytes of content in all files together are an error.
};

}  // namespace forebay
