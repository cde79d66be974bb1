// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace forebay {

/// Delivers every `step`-th batch from `start` on and before `stop`. The others are cut, and not made. Batches are
/// numbered from 0: in each epoch with hard epochs, else over the run.
struct BatchSlice {
  std::int64_t start = 0;
  std::optional<std::int64_t> stop = {};  ///< Left out: to the end.
  std::int64_t step = 1;
  std::optional<std::int64_t> index =
      {};  ///< With `count`: batches index, index + count, … instead of the other three.
  std::optional<std::int64_t> count = {};
};

}  // namespace forebay
