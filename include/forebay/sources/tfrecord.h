// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// Reads the records of TFRecord files. Both checksums of every record are verified.
struct TfRecord {
  Paths files;                                       ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  Compression compression = Compression::automatic;  ///< Of the whole file; automatic looks at its first bytes.
  std::int64_t max_record_bytes = 1 << 30;           ///< A longer record is an error, before any memory is taken.
  /// A compressed file with more content than this is an error; what is compressed a thousandfold would keep a run
  /// busy.
  std::int64_t max_decompressed_bytes = std::int64_t{4} << 30;
  bool tolerate_partial_header = false;  ///< A file that ends inside a header ends before it: still written.
  bool allow_trailing_zeros = false;     ///< Zero bytes behind the last record, or behind the compressed data.
};

}  // namespace forebay
