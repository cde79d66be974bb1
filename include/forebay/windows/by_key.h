// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <forebay/json_codec.h>

namespace forebay {

/// Numbers of frames by tensor, in the order of the document.
using FramesOfKeys = std::vector<std::pair<std::string, std::int64_t>>;

/// A number of frames for all keys, or one for each key that it names.
using FramesByKey = std::variant<std::int64_t, FramesOfKeys>;

/// The number for `key`; empty when it is not named.
[[nodiscard]] std::optional<std::int64_t> frames_of(const FramesByKey& frames, const std::string& key);

template <>
struct JsonCodec<FramesByKey> {
  static std::optional<FramesByKey> read(const Json& json, std::vector<Error>& faults);
  static Json write(const FramesByKey& value);
  static Json schema();
  static std::string python_type();
  static void add_tensors(const Json& json, std::vector<std::string>& names);
};

}  // namespace forebay
