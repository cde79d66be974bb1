// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/plugin.h>

namespace forebay {

/// Reads the lines of text files. A line feed ends a line, and one carriage return before it, or before the end of the
/// file, belongs to the end. Empty lines are records; an empty last line that nothing ends is none. Lines are bytes:
/// any encoding is allowed, and a byte order mark stays. A record's key is "path:line", from 1, header lines counted.
/// When the run skips corrupt records, lines that are too long are not counted, and a global shuffle does not count any
/// line that it skips; the offset of a record is right in any case.
struct Lines {
  Paths files;                                       ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  Compression compression = Compression::automatic;  ///< Of the whole file. automatic: any but zlib.
  std::int64_t skip_header_lines = 0;                ///< Lines at the beginning of each file that are not records.
  std::int64_t max_line_bytes = 16 << 20;            ///< A longer line is an error. No memory is taken for it.
  /// A compressed file with more content than this is an error. The limit stops files that expand a thousandfold.
  std::int64_t max_decompressed_bytes = std::int64_t{4} << 30;
  /// Goes through a compressed file once before its first record, in the first pass of a run: no record of a corrupt
  /// stream is delivered, and the file is decompressed twice in that pass.
  bool verify_first = false;
  NewTensorName record_key = {};  ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
