// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <forebay/plan.h>

namespace forebay {

/// How well the first epoch of a plan is shuffled, measured on the order in which its n rows are delivered.
///
/// Row p (from 0) is a record with ordinal g(p) among all records of the source, counted through its files in the order
/// of the list, and with file f(p), the number of its file in that list. (A plan that leaves out or repeats records
/// keeps these ordinals.)
struct ShuffleQuality {
  std::int64_t rows = 0;   ///< n: rows delivered; records that a batch step drops are none.
  std::int64_t files = 0;  ///< Of the source.
  /// (1/n) Σ |p - g(p)| / n. 0 is the order of the files; a uniform shuffle has (n² - 1) / 3n², about 1/3, on average.
  double displacement = 0;
  /// `displacement` as a share of that: 1 is as far as a uniform shuffle moves records.
  double of_uniform = 0;
  /// Pearson's correlation of f(p) with f(p + 1) over p = 0 … n - 2. Near 1 in the order of many long files;
  /// -1 / (n - 1), about 0, on average for a uniform shuffle. Empty where all rows come from one file.
  std::optional<double> file_correlation;
};

/// Runs the order of the first epoch, without decoding anything, in this thread. The files are gone through twice: to
/// count their records, and in the plan's order. `stop` is asked many times a second; when it says true, the
/// measurement fails with Code::cancelled. Fails as a run of the plan would when files cannot be read.
[[nodiscard]] Result<ShuffleQuality> shuffle_quality(const Plan& plan, const std::function<bool()>& stop = {});

}  // namespace forebay
