// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <forebay/loader.h>
#include <CLI/CLI.hpp>

namespace forebay::cli {

/// The options that say which part of a job a process takes, and where its indexes are.
struct ShardFlags {
  std::string shard;
  std::string shard_by;
  std::string batch_shard;
  std::string index_dir;

  void add_shard_to(CLI::App& verb);
  [[nodiscard]] Result<Shard> chosen(const Plan& plan) const;  ///< That of the plan where no option replaces it.
  /// How the files would be read by such a shard.
  [[nodiscard]] Result<ShardReading> reading(const Plan& plan) const;
};

/// `reading` as JSON.
[[nodiscard]] Json reading_json(const ShardReading& reading);

/// Lets "-" be the name of standard input.
CLI::Option* standard_input(CLI::Option* document);

/// The options of every verb that runs a document.
struct RunFlags : ShardFlags {
  std::string document;
  std::int64_t threads = 0;
  std::string memory;
  std::int64_t prefetch = 0;
  std::int64_t requests = 0;
  std::string cache_dir;
  std::string cache_size;

  void add_to(CLI::App& verb);
  /// Plans and starts the document; it is read once, so it may come from a pipe. `options`: those that no flag sets.
  [[nodiscard]] Result<Loader> start(RunOptions options = {}) const;
  /// Reports on standard error, once, which shard `--shard auto` chose, with its first batch if there is one, and where
  /// indexes were stored.
  void announce(Loader& pipeline, const Batch* first) const;

 private:
  mutable std::optional<Plan> plan_;
  mutable std::optional<Shard> picked_;  // not said yet
};

}  // namespace forebay::cli
