// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <forebay/plugin.h>

#include "io/file.h"

namespace forebay::sources {

/// How a record file that begins with `head` (16 bytes are enough) is compressed. A good TFRecord header is never taken
/// for anything else; what is unknown is `none`.
[[nodiscard]] Compression detect(std::span<const std::byte> head);

/// `asked`, or what the file's first bytes say when that is automatic.
[[nodiscard]] Result<Compression> compression_of(const io::File& file, Compression asked);

/// What the first bytes look like, "gzip data (1f 8b)", or nothing when they have no magic that is known.
[[nodiscard]] std::string_view magic_of(std::span<const std::byte> head);
/// The compression of a file that begins with `head`, "zstd", when it is one that nothing here reads; else nothing.
[[nodiscard]] std::string_view foreign_compression(std::span<const std::byte> head);

}  // namespace forebay::sources
