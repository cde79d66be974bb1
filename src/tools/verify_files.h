// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <forebay/verify.h>

namespace forebay::engine {

/// Where intact records are written.
struct Copies {
  std::vector<std::string> targets = {};  ///< One for each file; empty: nothing is written.
  Compression compression = Compression::automatic;
};

[[nodiscard]] Result<std::vector<FileReport>> look_through(Source source, const VerifyOptions& options,
                                                           const Copies& copies);

/// The files that `paths` name.
[[nodiscard]] Result<Source> source_of(const std::vector<std::string>& paths, const VerifyOptions& options);

}  // namespace forebay::engine
