// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <forebay/loader.h>
#include <CLI/CLI.hpp>

namespace forebay::cli {

/// The options of every verb that runs a document.
struct RunFlags {
  std::string document;
  std::int64_t threads = 0;
  std::string memory;
  std::int64_t prefetch = 0;
  std::string shard;
  std::string shard_by;
  std::string batch_shard;
  std::string index_dir;

  void add_to(CLI::App& verb);
  /// Plans and starts the document.
  [[nodiscard]] Result<Loader> start() const;
  /// Reports on standard error, once, which shard `--shard auto` chose, with its first batch if there is one, and where
  /// indexes were stored.
  void announce(Loader& pipeline, const Batch* first) const;

 private:
  mutable std::optional<Shard> picked_;  // not said yet
};

}  // namespace forebay::cli
