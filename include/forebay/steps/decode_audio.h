// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// What `start` and `length` count.
enum class AudioUnit : std::uint8_t { samples, seconds };
template <>
struct EnumNames<AudioUnit> {
  static constexpr std::array<std::string_view, 2> names{"samples", "seconds"};
};

/// Quality of the resampler, as soxr defines it: the width of the transition band and the precision.
enum class ResampleQuality : std::uint8_t { quick, low, medium, high, very_high };
template <>
struct EnumNames<ResampleQuality> {
  static constexpr std::array<std::string_view, 5> names{"quick", "low", "medium", "high", "very_high"};
};

/// Decodes audio files (WAV, FLAC, Ogg Vorbis, MP3) to samples.
///
///     bytes ─► format, header and its limits ─► range ─► channels ─► resample ─► pad ─► dtype
///
/// Samples are -1 … 1 as float32, or -32768 … 32767 as int16. A row is [samples, channels], or [samples] with `mono`.
/// A row whose bytes are no intact audio file is a fault of the row.
struct DecodeAudio {
  TensorName tensor;                                 ///< Scalar strings: the bytes of a file each.
  std::optional<NewTensorName> out = {};             ///< Name of the samples. Empty: they replace `tensor`.
  bool mono = false;                                 ///< Whether a sample is the mean of the channels.
  std::optional<std::int64_t> channels = {};         ///< Channels of every row; a file of one channel is repeated.
  std::optional<std::int64_t> sample_rate = {};      ///< In Hz; empty: the rate of the file.
  ResampleQuality quality = ResampleQuality::high;   ///< Where `sample_rate` is another one than the file's.
  double start = 0;                                  ///< Where the range begins, in `unit`.
  std::optional<double> length = {};                 ///< Of the range; empty: to the end of the file.
  AudioUnit unit = AudioUnit::samples;               ///< Samples of the file, before resampling, or seconds.
  bool pad = false;                                  ///< Zeros follow where the file ends before the range does.
  DType dtype = DType::float32;                      ///< float32, or int16 (rounded to nearest).
  std::optional<NewTensorName> rate_out = {};        ///< Name of an int32 tensor: the sample rate of each row.
  std::int64_t max_samples = std::int64_t{1} << 28;  ///< Samples times channels of a row; more are a fault.
};

}  // namespace forebay
