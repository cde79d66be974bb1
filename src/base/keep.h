// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <forebay/error.h>

namespace forebay {

/// Appends the error, or each of its faults if it stands for several.
inline void keep(const Error& error, std::vector<Error>& faults) {
  if (error.faults().empty()) {
    faults.push_back(error);
  } else {
    faults.insert(faults.end(), error.faults().begin(), error.faults().end());
  }
}

/// The value; or nothing, and its faults are appended to `faults`. So a reader continues after a fault, and one error
/// reports all of them.
template <class T>
[[nodiscard]] std::optional<T> keep(Result<T> result, std::vector<Error>& faults) {
  if (result.ok()) return *std::move(result);
  keep(result.error(), faults);
  return std::nullopt;
}

}  // namespace forebay
