// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <forebay/field_types.h>
#include <forebay/windows/by_key.h>

namespace forebay {

/// Puts the frames around each frame beside it: a window [T, F] becomes [T, width · F]. Without a window step before
/// it, the windows are the sequences. Source: the option `window` of RETURNN's data sets.
struct Stack {
  std::vector<TensorName> keys;  ///< Tensors with a time axis; empty: all whose first size is unknown.
  std::optional<FramesByKey>
      window;  ///< Frames side by side, the frame itself included; a number is for `data`, else the first key.
  std::optional<FramesOfKeys> left;     ///< Instead of `window`: frames before …
  std::optional<FramesOfKeys> right;    ///< … and after.
  std::optional<NewTensorName> number;  ///< Name of a column: the number of the window.
  std::optional<NewTensorName> start;   ///< Name of a column: the first frame of the window in its record.
};

}  // namespace forebay
