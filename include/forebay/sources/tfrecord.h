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
  Compression compression = Compression::automatic;  ///< Of the whole file. automatic: by its first bytes.
  std::int64_t max_record_bytes = 1 << 30;           ///< A longer record is an error. No memory is taken for it.
  /// A compressed file with more content than this is an error. The limit stops files that expand a thousandfold.
  std::int64_t max_decompressed_bytes = std::int64_t{4} << 30;
  bool tolerate_partial_header = false;  ///< A file that ends inside a header ends before it. For files being written.
  bool allow_trailing_zeros = false;  ///< Zero bytes after the last record, or after the compressed data, are padding.
  NewTensorName record_key = {};      ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
