// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <forebay/plugin.h>

#include "io/file.h"

namespace forebay::sources {

/// The compression of a record file that begins with `head` (16 bytes are enough). A valid TFRecord header always means
/// `none`, and so do unknown bytes.
[[nodiscard]] Compression detect(std::span<const std::byte> head);

/// `asked`; if it is automatic, the compression that the first bytes of the file show.
[[nodiscard]] Result<Compression> compression_of(const io::File& file, Compression asked);

/// Describes the first bytes, "gzip data (1f 8b)"; empty when they have no known magic number.
[[nodiscard]] std::string_view magic_of(std::span<const std::byte> head);
/// The name of a compression that Forebay does not read, "zstd", if `head` begins with its magic number; else empty.
[[nodiscard]] std::string_view foreign_compression(std::span<const std::byte> head);

}  // namespace forebay::sources
