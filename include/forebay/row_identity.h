// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace forebay {

/// What tells one row of a run from all others. It depends on the document, the data and the seed alone, so a draw from
/// it is the same for any number of threads and after a restart.
struct RowIdentity {
  std::int64_t part = 0;        ///< Number of the file or part in the source's list.
  std::int64_t record = 0;      ///< Ordinal of the record or row in the part, from 0.
  std::int64_t epoch = 0;       ///< The pass that the row belongs to.
  std::int64_t occurrence = 0;  ///< How often the same record came earlier in the same pass.
  std::int64_t window = 0;      ///< Ordinal of the window in the record; 0 when the row is a whole record.
  std::int64_t branch = 0;      ///< Of a combination: number of the branch. `epoch` is then its pass.

  bool operator==(const RowIdentity&) const = default;
};

/// 64 uniform bits for a row: a pure function of the arguments. `purpose` numbers the decision.
[[nodiscard]] std::uint64_t draw_of_row(std::uint64_t seed, const RowIdentity& row, std::uint64_t purpose);

/// Maps 64 uniform bits to [0, 1): a multiple of 2^-53.
[[nodiscard]] constexpr double unit_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace forebay
