// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <forebay/plugin.h>

namespace forebay {

/// Formats whose files say by themselves what fixed_length must know.
enum class FixedPreset : std::uint8_t { none, idx, cifar10, cifar100 };
template <>
struct EnumNames<FixedPreset> {
  static constexpr std::array<std::string_view, 4> names{"none", "idx", "cifar10", "cifar100"};
};

/// Reads records of one length. Record i of a file is the `record_bytes` bytes from `header_bytes` + i * hop on; it is
/// there if `footer_bytes` more bytes follow it. A record's key is "path:record", from 0.
///
/// With a `preset` the sizes are those of the format, and a file that does not fit is an error. `idx` (MNIST): a record
/// is an item of the first axis; the plan reads the headers, whose types and sizes of an item must agree, and the
/// number of records must be that of the header. `cifar10`, `cifar100`: one or two labels and an image, 3,073 or 3,074
/// bytes. The decoder `raw` then knows the shape and the byte order.
struct FixedLength {
  Paths files;                                       ///< Paths and patterns (*, ?, [a-z], path@N); their order is kept.
  std::int64_t record_bytes = 0;                     ///< Bytes of a record. Must be given without a preset.
  FixedPreset preset = FixedPreset::none;            ///< Not none: decides all sizes; they may not be given.
  std::int64_t header_bytes = 0;                     ///< Bytes before the first record. A shorter file is an error.
  std::int64_t footer_bytes = 0;                     ///< Bytes at the end of a file that belong to no record.
  std::int64_t hop_bytes = 0;                        ///< From one record's beginning to the next's; 0: record_bytes.
  Compression compression = Compression::automatic;  ///< Of the whole file. automatic: any but zlib.
  bool strict_tail = false;  ///< Bytes after the last whole record are an error; otherwise they are left out.
  /// A compressed file with more content than this is an error. The limit stops files that expand a thousandfold.
  std::int64_t max_decompressed_bytes = std::int64_t{4} << 30;
  /// Goes through a compressed file once before its first record, in the first pass of a run: no record of a corrupt
  /// stream is delivered, and the file is decompressed twice in that pass.
  bool verify_first = false;
  NewTensorName record_key = {};  ///< A tensor of this name has the key of each record; empty: none.
};

}  // namespace forebay
