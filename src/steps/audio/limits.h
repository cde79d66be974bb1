// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fmt/core.h>
#include <forebay/error.h>

/// Limits of what a file may say about its sound. A file outside of them is corrupt.
namespace forebay::steps {

inline constexpr std::int64_t max_channels = 256;
inline constexpr std::int64_t max_rate = 3'000'000;  // Hz; the fastest recorders take 2.8 million samples a second

[[nodiscard]] inline Result<void> check_sound(std::int64_t channels, std::int64_t rate) {
  if (channels < 1 || channels > max_channels) {
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the audio has {} channels; files of 1 to {} are read", channels, max_channels)};
  }
  if (rate < 1 || rate > max_rate) {
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the audio has {} samples a second; files of 1 to {} are read", rate, max_rate)};
  }
  return {};
}

}  // namespace forebay::steps
