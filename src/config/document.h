// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <forebay/json.h>

namespace forebay {

inline constexpr std::size_t max_document_bytes = std::size_t{64} << 20;

/// Reads a JSON document from a regular file; its top level must be an object. Every place in it names the file.
///
/// Fails with Code::io when the file cannot be read (Detail::not_found, permission_denied), else as parse_json does.
/// `what` names the file in messages when it cannot be read.
[[nodiscard]] Result<Json> read_document(const std::string& path, std::string_view what = "the document");

}  // namespace forebay
