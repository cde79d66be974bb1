// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <forebay/plan.h>

namespace forebay {

/// What a plan tells about itself.
struct Plan::Parts {
  std::vector<ColumnSpec> outputs;
  std::vector<std::string> inputs;
  std::vector<std::string> targets;
  Json lowered;
  std::optional<std::int64_t> batches;
  std::uint64_t hash = 0;
  std::vector<std::pair<std::string, std::uint64_t>> sections;  ///< What decides the stream, part by part.
  std::string text;
};

}  // namespace forebay
