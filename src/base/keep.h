// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <forebay/error.h>

namespace forebay {

/// Adds the error, or every fault that it stands for.
inline void keep(const Error& error, std::vector<Error>& faults) {
  if (error.faults().empty()) {
    faults.push_back(error);
  } else {
    faults.insert(faults.end(), error.faults().begin(), error.faults().end());
  }
}

/// The value, or nothing and its faults kept: whoever reads or binds goes on, so that one error names all of them.
template <class T>
[[nodiscard]] std::optional<T> keep(Result<T> result, std::vector<Error>& faults) {
  if (result.ok()) return *std::move(result);
  keep(result.error(), faults);
  return std::nullopt;
}

}  // namespace forebay
