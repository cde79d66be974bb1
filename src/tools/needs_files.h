// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/format.h>

namespace forebay::engine {

/// Fails with Code::config when the source is rows that come ready: a tool that looks into files finds none.
[[nodiscard]] inline Result<void> needs_files(const Source& source) {
  if (!source.rows) return {};
  return Error{Code::config, Detail::invalid_argument,
               "the source of this plan is rows that the program holds: it has no files"};
}

}  // namespace forebay::engine
