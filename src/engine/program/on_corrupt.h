// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <forebay/error.h>

namespace forebay::engine {

/// What the run does about a corrupt record.
///
/// skip_record and skip_file decide when a block is read, before the order. skip_row decides when the row is made: the
/// row stays in its batch as padding.
enum class Corrupt : std::uint8_t { fail, skip_record, skip_row, skip_file };

/// The policy and its budgets. The run fails when a budget is exceeded. All budgets are judged per pass, so that a
/// restarted run judges as an unbroken one does. A skip is one corrupt record, one unreadable range of bytes, one file
/// that was given up, or with skip_row one row of this process; each counts as one, whatever its size.
struct OnCorrupt {
  Corrupt policy = Corrupt::fail;
  std::optional<std::int64_t> max_count = {};  ///< Skips of a pass.
  /// Skips ÷ (skips + good records) of a pass. Judged at each skip once the pass had 1,000 of both, and at its end.
  std::optional<double> max_fraction = {};
  std::int64_t max_consecutive = 100;  ///< Skips without a good record in between.
  /// With skip_row: an order or a batcher looks into the records before they get rows, so those that are corrupt are
  /// skipped then. The budgets judge these, and the rows that are left out later, each alone.
  bool looks = false;
  bool operator==(const OnCorrupt&) const = default;
};

/// Whether records are judged when they are read, before they get rows.
[[nodiscard]] inline bool skips_early(const OnCorrupt& policy) {
  return policy.policy == Corrupt::skip_record || policy.policy == Corrupt::skip_file ||
         (policy.policy == Corrupt::skip_row && policy.looks);
}

/// Whether the run makes an empty row of one that failed with `error`. A lack of memory is no fault of the data.
[[nodiscard]] inline bool skips_row(const OnCorrupt& policy, const Error& error) {
  return policy.policy == Corrupt::skip_row && error.code() == Code::data &&
         error.detail() != Detail::resource_exhausted;
}

/// Whether the run skips a file that failed with `error`: the policy is skip_file, and the file is missing or may not
/// be read. Other faults of the machine, such as a failed read, always end the run.
[[nodiscard]] inline bool passes_over_file(const OnCorrupt& policy, const Error& error) {
  const bool unreadable = error.detail() == Detail::not_found || error.detail() == Detail::permission_denied;
  return policy.policy == Corrupt::skip_file && error.code() == Code::io && unreadable;
}

}  // namespace forebay::engine
