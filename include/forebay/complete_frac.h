// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// The done part of an epoch.
struct Fraction {
  double value = 0;    ///< Above 0, at most 1; it never falls within an epoch.
  bool exact = false;  ///< Counted. Else it only grows: the end of the epoch is not known.
};

/// The fraction after sequence `seq_idx`, counted from 0, of an epoch of so many sequences; empty: nobody knows how
/// many. Of an unknown number it is 0.09 after 100 sequences, 0.495 after 10,000 and 0.9 after 1,000,000.
[[nodiscard]] Fraction complete_frac(std::int64_t seq_idx, std::optional<std::int64_t> sequences);

}  // namespace forebay
