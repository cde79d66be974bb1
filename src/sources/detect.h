// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <forebay/plugin.h>

#include "io/file.h"

namespace forebay::sources {

/// The compression of a TFRecord file that begins with `head` (16 bytes are enough). A valid TFRecord header is never
/// taken for a compressed file; anything unknown is `none`.
[[nodiscard]] Compression detect_tfrecord(std::span<const std::byte> head);

/// Returns `asked`, or what `format` detects in the first bytes of the file when `asked` is automatic.
[[nodiscard]] Result<Compression> compression_of(const io::RandomAccessFile& file, Compression asked,
                                                 const Format& format);

/// Describes the first bytes as "gzip data (1f 8b)"; empty when they begin with no known magic.
[[nodiscard]] std::string_view magic_of(std::span<const std::byte> head);
/// The compression of a file that begins with `head`, such as "lz4", when Forebay cannot read it; else empty.
[[nodiscard]] std::string_view foreign_compression(std::span<const std::byte> head);

}  // namespace forebay::sources
