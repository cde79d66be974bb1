// SPDX-License-Identifier: Apache-2.0
#include <forebay/complete_frac.h>

#include <algorithm>
#include <cmath>

namespace forebay {

Fraction complete_frac(std::int64_t seq_idx, std::optional<std::int64_t> sequences) {
  const auto done = static_cast<double>(std::max<std::int64_t>(seq_idx, 0));
  if (sequences && *sequences > 0)
    return {.value = std::min((done + 1) / static_cast<double>(*sequences), 1.0), .exact = true};
  return {.value = std::max(1e-10, 0.99 * (1.0 - 1.0 / (std::sqrt(done) / 100.0 + 1.0)))};
}

}  // namespace forebay
