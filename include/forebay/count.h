// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <forebay/error.h>
#include <forebay/plan.h>
#include <forebay/run_options.h>

/// How many batches a run has.
namespace forebay {

struct CountOptions {
  std::optional<std::int64_t>
      epochs;  ///< Only the batches of the first epochs, which are those whose first row is of them.
  /// Where indexes cannot tell, goes through the records: decodes what filters and batches depend on, or all of a run.
  bool decode = false;
  Shard shard = {};
  std::int64_t threads = 0;    ///< As RunOptions::threads.
  std::string index_dir = {};  ///< As RunOptions::index_dir.
  /// Called by the thread that called `count_batches`, every few milliseconds; false ends the work with
  /// Code::cancelled.
  std::function<bool()> go_on = [] { return true; };
};

/// The number of batches of a run of this shard, from the first one on. Uses the stored indexes and attributes of the
/// files, makes those that are missing, several files at once, and stores them for the next time.
///
/// Empty for the whole of an endless run, and when counting needs decoding and `decode` is false. Fails as indexing and
/// reading do, and with Code::state for rows that can be read only once (feeds).
[[nodiscard]] Result<std::optional<std::int64_t>> count_batches(const Plan& plan, const CountOptions& options);

}  // namespace forebay
