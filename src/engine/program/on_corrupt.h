// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <forebay/error.h>

namespace forebay::engine {

/// What a corrupt record does.
enum class Corrupt : std::uint8_t { fail, skip_record, skip_file };

/// The policy and its budgets; past a budget the run fails. All are judged per pass, so that a restart judges alike.
struct OnCorrupt {
  Corrupt policy = Corrupt::fail;
  std::optional<std::int64_t> max_count = {};  ///< Skipped records and unreadable ranges of a pass.
  /// Of the records of a pass so far, once it has had 1,000, when each skip counts as one record; and of all at its
  /// end, when ranges and files count as the records that they stand for (skip_tally.h).
  std::optional<double> max_fraction = {};
  std::int64_t max_consecutive = 100;  ///< Without a good record in between.
};

/// Whether a file that gives this error counts as corrupt from its beginning: it is not there or may not be read, and
/// files may be skipped. What the machine does wrong never is passed over.
[[nodiscard]] inline bool passes_over_file(const OnCorrupt& policy, const Error& error) {
  const bool unreadable = error.detail() == Detail::not_found || error.detail() == Detail::permission_denied;
  return policy.policy == Corrupt::skip_file && error.code() == Code::io && unreadable;
}

}  // namespace forebay::engine
