// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/json.h>

namespace forebay {

/// {"chunking": …} ─► {"enabled", "size", "step"}.
[[nodiscard]] Result<Json> parse_chunking_answer(const Json& question);

/// {"stages": [{name: options}, …], "keys": [name, …], "lengths": [elements × keys], "seed"} ─► {"keys": names by axis,
/// "windows": [[[element, start, length, pad_left, pad_right], …], …]}: what the window plug-ins cut out of one part.
[[nodiscard]] Result<Json> cut_windows_answer(const Json& question);

}  // namespace forebay
