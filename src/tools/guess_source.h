// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/error.h>
#include <forebay/json.h>

namespace forebay::tools {

/// The source that reads some files.
struct GuessedSource {
  std::string kind;                     ///< Name of the source, or a FileKind of its own (tools/file_kind.h).
  Json options = Json::object();        ///< Of the source, with its files.
  std::vector<std::string> files = {};  ///< All of them, in their order.
  std::vector<std::string> notes = {};
  std::string head = {};  ///< The beginning of the first one, decompressed.
};

/// Finds the files that paths, patterns and folders name, and what they are, by content and name. Files of other kinds
/// are left out and named when one kind is chosen. `kind`: what they are, empty to find it out; `options`: of that
/// source. Fails with Code::config for files of no known kind, and with Code::io.
[[nodiscard]] Result<GuessedSource> guess_source(const std::vector<std::string>& paths, const std::string& kind,
                                                 const Json& options);

}  // namespace forebay::tools
