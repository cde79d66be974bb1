// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forebay/inspect.h>
#include <CLI/CLI.hpp>

namespace forebay::cli {

/// Files of data, and what they are if that cannot be seen; or a document.
struct SourceFlags {
  std::vector<std::string> paths;
  std::string source;
  std::vector<std::string> source_options;  ///< NAME=VALUE

  void add_to(CLI::App& verb);
  void add_options_to(CLI::App& verb);  ///< Without the paths.
  /// Fails with Code::config for an option that is no NAME=VALUE.
  [[nodiscard]] Result<InspectOptions> options() const;
  /// Whether one path is given, and it names a document.
  [[nodiscard]] Result<bool> names_document() const;
};

}  // namespace forebay::cli
