// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <forebay/error.h>

namespace forebay::engine {

/// What a corrupt record does.
enum class Corrupt : std::uint8_t { fail, skip_record, skip_file };

/// The policy and its budgets. Beyond a budget the run fails. Budgets are counted per pass, so a restart counts the
/// same.
struct OnCorrupt {
  Corrupt policy = Corrupt::fail;
  std::optional<std::int64_t> max_count = {};  ///< Skipped records and unreadable ranges in a pass; empty: any number.
  /// Skipped share of the records of a pass. Judged from the 1,000th record on, each skip counting as one record, and
  /// at the end of the pass, ranges and files counting as the records that they stand for (skip_tally.h).
  std::optional<double> max_fraction = {};
  std::int64_t max_consecutive = 100;  ///< Skips without a good record in between.
};

/// Whether the policy skips a file whose opening fails with `error`: the file is missing or may not be read, and the
/// policy is skip_file. Other failures of the machine are never skipped.
[[nodiscard]] inline bool passes_over_file(const OnCorrupt& policy, const Error& error) {
  const bool unreadable = error.detail() == Detail::not_found || error.detail() == Detail::permission_denied;
  return policy.policy == Corrupt::skip_file && error.code() == Code::io && unreadable;
}

}  // namespace forebay::engine
