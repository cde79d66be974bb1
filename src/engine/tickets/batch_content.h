// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/batch.h>

#include "engine/order/order_plane.h"

namespace forebay {

struct Batch::Content {
  std::shared_ptr<const engine::Program> program;
  std::shared_ptr<const std::vector<std::string>> names;
  std::vector<Value> values;                   ///< By name.
  std::vector<std::optional<Tensor>> lengths;  ///< By name.
  engine::BatchLayout layout;
};

}  // namespace forebay
