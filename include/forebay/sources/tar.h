// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/plugin.h>

namespace forebay {

/// Reads tar archives such as WebDataset shards. A record is the run of members with one key: their name up to the
/// first dot after its last slash. The decoder `tar` splits a record into tensors. Members are read as a stream: a name
/// is never a path, and folders, links and devices are passed over. Blocks of zeros end a record and may be missing at
/// the end; archives that stand one after the other in a file are read as one.
///
/// A key that comes again after another one is an error within 65,536 records. Members have no checksums, headers do;
/// after a corrupt header the rest of the file is unreadable.
struct Tar {
  Paths files;                                       ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  Compression compression = Compression::automatic;  ///< Of the whole file. automatic: any but zlib.
  std::int64_t max_record_bytes = 1 << 30;           ///< A longer record is an error, before memory is taken.
  /// A compressed file with more content than this is an error. The limit stops files that expand a thousandfold.
  std::int64_t max_decompressed_bytes = std::int64_t{1} << 40;
  /// Goes through a compressed file once before its first record, in the first pass of a run: no record of a corrupt
  /// stream is delivered, and the file is decompressed twice in that pass.
  bool verify_first = false;
  NewTensorName record_key = {};  ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
