// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <forebay/json.h>

namespace forebay {

inline constexpr std::size_t max_document_bytes = std::size_t{64} << 20;

/// Reads a JSON document from a file or a pipe; its top level must be an object. Every place in it names the file.
///
/// Fails with Code::io when the file cannot be read (Detail::not_found, permission_denied) or a pipe is silent for a
/// minute, with Code::cancelled when a signal comes while it waits for a pipe, else as parse_json does. `what` names
/// the file in messages when it cannot be read.
[[nodiscard]] Result<Json> read_document(const std::string& path, std::string_view what = "the document");

/// The folder that paths in a document are relative to: that of its file. Empty, the working folder, for standard input
/// and other descriptors (/dev/stdin, /dev/fd/63).
[[nodiscard]] std::string document_folder(const std::string& path);

}  // namespace forebay
