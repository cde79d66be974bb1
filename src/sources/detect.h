// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <forebay/plugin.h>

#include "io/file.h"

namespace forebay::sources {

/// Whether the bytes begin with the header of a TFRecord record whose checksum is right.
[[nodiscard]] bool is_record_header(std::span<const std::byte> head);

/// The compression of a TFRecord file that begins with `head` (16 bytes are enough). A valid TFRecord header is never
/// taken for a compressed file; anything unknown is `none`.
[[nodiscard]] Compression detect_tfrecord(std::span<const std::byte> head);

/// Returns `asked`, or what `format` detects in the first bytes of the file when `asked` is automatic.
[[nodiscard]] Result<Compression> compression_of(const io::RandomAccessFile& file, Compression asked,
                                                 const Format& format);

/// What the first bytes of a file say beyond doubt: gzip, zstd, bzip2 or xz, else none.
[[nodiscard]] Compression compression_by_magic(std::span<const std::byte> head);

/// Describes the first bytes as "gzip data (1f 8b)"; empty when they begin with no known magic.
[[nodiscard]] std::string_view magic_of(std::span<const std::byte> head);
/// What a file is that begins with `head`, when its format is none of records or text: "an HDF5 file", "a Parquet file,
/// which pyarrow reads". Empty: unknown.
[[nodiscard]] std::string_view file_kind(std::span<const std::byte> head);

}  // namespace forebay::sources
