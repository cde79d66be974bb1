// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forebay/plugin.h>

namespace forebay {

/// Reads the records of files of comma-separated values; the decoder `csv` makes rows of them. A line feed outside of
/// quotes ends a record, and one carriage return before it belongs to the end. A UTF-8 byte order mark is left out.
/// The names of a header row are those of the first file; every other file must have the same. A record's key is
/// "path:offset".
struct Csv {
  Paths files;                                       ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  Compression compression = Compression::automatic;  ///< Of the whole file. automatic: gzip, zstd or none, never zlib.
  std::string field_delim = ",";                     ///< One character.
  bool use_quote_delim = true;                       ///< False: a quote is text, and a record is a line.
  std::int64_t skip_header_lines = 0;                ///< Lines at the beginning of each file before all others.
  bool header = false;                               ///< The first record of each file has the names of the fields.
  std::optional<std::vector<std::string>> names = {};         ///< The names of the fields, instead of a header.
  std::optional<std::vector<std::int64_t>> select_cols = {};  ///< Fields for the decoder's columns, in their order.
  std::string na_value = {};                                  ///< A field of this text is an empty one.
  bool skip_blank_lines = false;             ///< Records without a byte are none; otherwise they have no fields.
  std::int64_t max_field_bytes = 16 << 20;   ///< A longer field is an error.
  std::int64_t max_record_bytes = 64 << 20;  ///< A longer record is an error. No memory is taken for it.
  /// A compressed file with more content than this is an error. The limit stops files that expand a thousandfold.
  std::int64_t max_decompressed_bytes = std::int64_t{4} << 30;
  /// Goes through a compressed file once before its first record, in the first pass of a run: no record of a corrupt
  /// stream is delivered, and the file is decompressed twice in that pass.
  bool verify_first = false;
  NewTensorName record_key = {};  ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
