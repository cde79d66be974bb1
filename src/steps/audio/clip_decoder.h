// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <forebay/step.h>
#include <forebay/steps/decode_audio.h>

#include "steps/audio/audio_reader.h"
#include "steps/audio/resample_audio.h"

namespace forebay::steps {

/// Decodes one clip after the other as the options say. The step `decode_audio` and the function of that name share it.
/// Used by one thread at a time.
class ClipDecoder {
 public:
  struct Clip {
    std::int64_t frames = 0, channels = 0, rate = 0;
    [[nodiscard]] std::int64_t samples() const { return frames * channels; }
  };

  /// Decodes the bytes; `samples()` has the clip until the next call. Fails with Code::data when they are no intact
  /// file.
  [[nodiscard]] Result<Clip> decode(std::span<const std::byte> bytes, const DecodeAudio& options, const StopCheck* stop,
                                    const StepBudget* budget);
  /// Writes `clip` as the elements of `dtype`, then zeros up to `elements`.
  void write(const Clip& clip, DType dtype, std::int64_t elements, std::byte* out) const;
  void close() { reader_.close(); }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(samples_.capacity() + resampled_.capacity());
  }

 private:
  /// The frames of the file that a clip has. No `count`: all from `first` on, as many as there are.
  struct Stretch {
    std::int64_t first = 0;
    std::optional<std::int64_t> count;
    std::int64_t most = 0;  ///< Frames that the limits allow.
  };
  [[nodiscard]] Result<Stretch> stretch_of(const AudioReader::Header& header, const DecodeAudio& options) const;
  [[nodiscard]] Result<std::int64_t> read(const Stretch& stretch, std::int64_t channels, const StopCheck* stop);
  [[nodiscard]] Result<std::int64_t> mix(std::int64_t frames, std::int64_t channels, const DecodeAudio& options);

  AudioReader reader_;
  AudioResampler resampler_;
  Storage samples_, resampled_;
  const Storage* result_ = &samples_;
};

/// Frames of every clip that is padded; empty: clips differ.
[[nodiscard]] std::optional<std::int64_t> padded_frames(const DecodeAudio& options);

/// Faults of the options that do not depend on the tensors.
[[nodiscard]] Result<void> check_audio_options(const DecodeAudio& options);

}  // namespace forebay::steps
