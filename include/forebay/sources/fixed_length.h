// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/plugin.h>

namespace forebay {

/// Reads records of one length. Record i of a file is the `record_bytes` bytes from `header_bytes` + i * hop on; it is
/// there if `footer_bytes` more bytes follow it. A record's key is "path:record", from 0.
struct FixedLength {
  Paths files;                                       ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  std::int64_t record_bytes = 0;                     ///< Bytes of a record.
  std::int64_t header_bytes = 0;                     ///< Bytes before the first record. A shorter file is an error.
  std::int64_t footer_bytes = 0;                     ///< Bytes at the end of a file that belong to no record.
  std::int64_t hop_bytes = 0;                        ///< From one record's beginning to the next's; 0: record_bytes.
  Compression compression = Compression::automatic;  ///< Of the whole file. automatic: any but zlib.
  bool strict_tail = false;  ///< Bytes after the last whole record are an error; otherwise they are left out.
  /// A compressed file with more content than this is an error. The limit stops files that expand a thousandfold.
  std::int64_t max_decompressed_bytes = std::int64_t{4} << 30;
  NewTensorName record_key = {};  ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
