// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forebay/batch.h>
#include <forebay/error.h>
#include <forebay/json.h>
#include <forebay/steps/decode_audio.h>
#include <forebay/steps/mfcc.h>

/// The audio steps as functions. `tensor`, `out` and `rate_out` of the options mean nothing here. Options as Json are
/// those of documents: an object without `tensor`. All fail with Code::config when an option is wrong, and are
/// thread-safe.
namespace forebay {

/// A clip of sound.
struct AudioClip {
  Tensor samples;                ///< [samples, channels], or [samples] with `mono`.
  std::int64_t sample_rate = 0;  ///< In Hz.
};

/// Decodes one audio file (WAV, FLAC, Ogg Vorbis, MP3) as the step `decode_audio` does. Fails with Code::data when the
/// bytes are no intact file.
[[nodiscard]] Result<AudioClip> decode_audio(std::span<const std::byte> file, const DecodeAudio& options = {});
[[nodiscard]] Result<AudioClip> decode_audio(std::span<const std::byte> file, const Json& options);

/// The mel spectrogram [frames, n_mels] of samples, as the step `log_mel` makes it.
[[nodiscard]] Result<Tensor> log_mel(std::span<const float> samples, const LogMel& options = {});
[[nodiscard]] Result<Tensor> log_mel(std::span<const float> samples, const Json& options);

/// The mel frequency cepstral coefficients [frames, n_mfcc] of samples, as the step `mfcc` makes them.
[[nodiscard]] Result<Tensor> mfcc(std::span<const float> samples, const Mfcc& options = {});
[[nodiscard]] Result<Tensor> mfcc(std::span<const float> samples, const Json& options);

}  // namespace forebay
