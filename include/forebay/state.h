// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <forebay/json.h>

/// Saved states of runs: what `Loader::state` gives, in files and in words (docs/formats/state.md).
namespace forebay {

/// The size of a state at most. A larger text or file is refused.
inline constexpr std::int64_t max_state_bytes = std::int64_t{16} << 20;

/// A state from its text. Fails with Code::state, data_loss, for text that is no JSON or is longer than a state.
/// `Loader::restore` checks the rest.
[[nodiscard]] Result<Json> parse_state(std::string_view text);

/// A state in words, without its plan. Fails with Code::state when it is no state (invalid_argument), corrupt or edited
/// (data_loss), or newer than this version (failed_precondition).
[[nodiscard]] Result<std::string> state_text(const Json& state);

/// A state from a file. Fails with Code::io when the file cannot be read, else as `parse_state` does.
[[nodiscard]] Result<Json> load_state(const std::string& path);

/// Writes a state to a file, which appears whole or not at all: a file that is there stays until then.
/// Fails with Code::io and the path.
[[nodiscard]] Result<void> save_state(const std::string& path, const Json& state);

}  // namespace forebay
