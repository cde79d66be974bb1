// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::sources {

/// What a format of files that have labels is as well: the planner adds a tensor that has the label of each row's file.
struct LabelledFiles {
  std::string tensor;                ///< Name of the tensor; empty: there are no labels.
  std::vector<std::string> classes;  ///< Names of the labels 0, 1, …
  std::vector<std::int32_t> labels;  ///< By file of the source.
};

}  // namespace forebay::sources
