// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forebay/error.h>

namespace forebay::steps {

/// The audio data of a WAV file, and a header of its own for it. The header has the chunks `fmt `, `fact` and `data`
/// only, with sizes that are right, so the library that decodes the file sees no other chunk.
struct WavFile {
  std::string header;
  std::span<const std::byte> data;
  std::int64_t channels = 0, rate = 0;
  bool pcm16 = false;  ///< Every sample is an integer of 16 bits; no library is needed.
};

/// Whether the bytes begin as a WAV file does (RIFF or RF64).
[[nodiscard]] bool looks_like_wav(std::span<const std::byte> bytes);

/// Finds the audio data of a WAV file. Fails with Code::data when a chunk or the format is not possible: a size that
/// goes past the end, no format before the data, channels or bits out of range.
[[nodiscard]] Result<WavFile> read_wav(std::span<const std::byte> bytes);

}  // namespace forebay::steps
