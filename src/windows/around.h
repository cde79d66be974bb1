// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forebay/window.h>
#include <forebay/windows/by_key.h>

/// What `context` and `stack` share: frames around frames, and windows that are whole sequences.
namespace forebay::windows {

/// The options of the two steps.
struct AroundOptions {
  const std::optional<FramesByKey>& window;
  const std::optional<FramesOfKeys>& left;
  const std::optional<FramesOfKeys>& right;
};

/// The frames on both sides by key. A total width counts the frame itself; an odd rest goes to the right. Fails when
/// an option names another tensor, when a number is not allowed, or unless either `window` or the others are given.
[[nodiscard]] Result<std::vector<FramesAround>> frames_around(const AroundOptions& options,
                                                              const std::vector<std::string>& names);

/// Windows that are the sequences, for a step that has no window step before it.
[[nodiscard]] Result<Windowing> whole_sequences(const std::vector<TensorName>& keys, const Schema& in);

/// The names of the columns that hold the windows, in the order of the keys.
[[nodiscard]] std::vector<std::string> made_names(const Windowing& windowing);

}  // namespace forebay::windows
