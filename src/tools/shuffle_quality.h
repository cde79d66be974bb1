// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/shuffle_quality.h>

namespace forebay::engine {

/// Pearson's correlation of two series that come pair by pair (Welford's sums: no cancellation, however long).
class Correlation {
 public:
  void add(double x, double y);
  [[nodiscard]] std::optional<double> value() const;  ///< Empty when a series is constant.

 private:
  double count_ = 0;
  double mean_x_ = 0, mean_y_ = 0;
  double square_x_ = 0, square_y_ = 0, product_ = 0;  // sums of deviations from the means
};

/// Measures how well an epoch is shuffled. Takes its records in delivered order; needs memory for one number a file.
/// One thread at a time.
class ShuffleMeasure {
 public:
  /// `records`: the number of records of each file.
  explicit ShuffleMeasure(const std::vector<std::int64_t>& records);

  void add(std::uint32_t file, std::int64_t record);  ///< `record`: its ordinal in the file.
  [[nodiscard]] ShuffleQuality result() const;

 private:
  std::vector<std::int64_t> before_;  // records in the files before each
  std::int64_t rows_ = 0;
  double moved_ = 0;  // Σ |p - g(p)|, which exceeds 64 bits for more than some billions of rows
  Correlation neighbours_;
  std::uint32_t last_file_ = 0;
};

}  // namespace forebay::engine
