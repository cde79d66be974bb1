// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <forebay/pipeline.h>
#include <CLI/CLI.hpp>

namespace forebay::cli {

/// The options that every verb has that runs a document.
struct RunFlags {
  std::string document;
  std::int64_t threads = 0;
  std::string memory;
  std::int64_t prefetch = 0;
  std::string shard;

  void add_to(CLI::App& verb);
  /// Plans and starts the document.
  [[nodiscard]] Result<Pipeline> start() const;
};

}  // namespace forebay::cli
