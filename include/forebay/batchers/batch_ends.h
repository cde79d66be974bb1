// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/field_types.h>

namespace forebay {

/// Cuts batches where the rows say so. Several keys must agree.
///
///     end  0 0 1 0 1 1 0     ─►     │0 0 1│0 1│1│0│
///
/// This is how batches that were made before come through a combination, or out of a function, as they are: each row
/// has a key that is 1 in the last row of its batch. The keys are no tensors of the batch.
struct BatchEnds {
  std::vector<TensorName> keys;  ///< Tensors of shape [], boolean or integer: not 0 where a batch ends.
  bool require_equal = false;    ///< Rows of unequal shape are an error instead of being delivered ragged.
  Pad pad = false;
};

/// The tensor that says how many frames tensor `name` has at least in the whole batch, in rows whose batches were
/// padded before: an integer of shape []. It is no tensor of the batch either.
[[nodiscard]] std::string frames_in_batch(std::string_view name);
[[nodiscard]] bool is_frames_in_batch(std::string_view name);

}  // namespace forebay
