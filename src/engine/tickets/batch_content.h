// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/batch.h>

#include "engine/order/order_plane.h"

namespace forebay {

/// What a delivered batch consists of. Immutable once it is delivered; owned by the batches that share it.
struct Batch::Content {
  std::shared_ptr<const engine::Program> program;
  std::shared_ptr<const std::vector<std::string>> names;
  std::vector<Value> values;                   ///< In the order of `names`.
  std::vector<std::optional<Tensor>> lengths;  ///< In the order of `names`; empty: the value is not padded.
  engine::BatchLayout layout;
};

}  // namespace forebay
