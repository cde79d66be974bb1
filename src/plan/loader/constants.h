// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/loader/loader_document.h"

namespace forebay::plan {

/// Adds the faults of the arguments of a secondary feature. `primaries` are the tensors that it may take its shape and
/// dtype from.
void check_constant(const SecondaryFeature& feature, const Json& json, const std::vector<std::string>& primaries,
                    Faults& faults);

/// The arguments of a secondary feature that has no faults; its shape is a list, or the name of a primary.
struct Constant {
  std::variant<Shape, std::string> shape;
  std::string dtype;  ///< A dtype, or the name of a primary.
  Json value;
};
[[nodiscard]] Constant read_constant(const SecondaryFeature& feature, const Json& json,
                                     const std::vector<std::string>& primaries);

}  // namespace forebay::plan
