// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <forebay/field_types.h>

namespace forebay {

enum class AudioWindow : std::uint8_t { hann, hamming };
enum class AudioPadding : std::uint8_t {
  constant,
  reflect,
  edge
};  ///< Of `center`: zeros, mirrored, or the last sample.
enum class MelScale : std::uint8_t { slaney, htk };
enum class MelNorm : std::uint8_t { slaney, none };  ///< slaney: every filter has the same area.
enum class MelLog : std::uint8_t { db, ln, log10, none };

template <>
struct EnumNames<AudioWindow> {
  static constexpr std::array<std::string_view, 2> names{"hann", "hamming"};
};
template <>
struct EnumNames<AudioPadding> {
  static constexpr std::array<std::string_view, 3> names{"constant", "reflect", "edge"};
};
template <>
struct EnumNames<MelScale> {
  static constexpr std::array<std::string_view, 2> names{"slaney", "htk"};
};
template <>
struct EnumNames<MelNorm> {
  static constexpr std::array<std::string_view, 2> names{"slaney", "none"};
};
template <>
struct EnumNames<MelLog> {
  static constexpr std::array<std::string_view, 4> names{"db", "ln", "log10", "none"};
};

/// Makes mel spectrograms [frames, n_mels] of float32 samples [samples].
///
///     samples ─► pad ─► frames ─► window ─► |FFT| ^ power ─► mel filters ─► log
///
/// The defaults are those of librosa.feature.melspectrogram and power_to_db. docs/audio.md has the definitions.
struct LogMel {
  TensorName tensor;                      ///< float32 [samples].
  std::optional<NewTensorName> out = {};  ///< Name of the spectrogram. Empty: it replaces `tensor`.
  /// Sample rate in Hz. Empty: the rate that decode_audio delivers, or 22,050 for samples of other sources. It must be
  /// given where decode_audio keeps the rate of each file.
  std::optional<std::int64_t> sample_rate = {};
  std::int64_t n_fft = 2048;                       ///< Samples of a frame; even, without large prime factors.
  std::int64_t hop_length = 512;                   ///< Samples from frame to frame.
  std::optional<std::int64_t> win_length = {};     ///< Samples of the window, in the middle of a frame; empty: n_fft.
  AudioWindow window = AudioWindow::hann;          ///< Periodic.
  bool center = true;                              ///< Whether n_fft / 2 samples of padding are added at both ends.
  AudioPadding pad_mode = AudioPadding::constant;  ///< Of `center`.
  double power = 2;                                ///< 1: magnitudes, 2: energies.
  std::int64_t n_mels = 128;                       ///< Number of filters.
  double fmin = 0;                                 ///< Lowest frequency, in Hz.
  std::optional<double> fmax = {};                 ///< Highest frequency, in Hz; empty: sample_rate / 2.
  MelScale scale = MelScale::slaney;
  MelNorm norm = MelNorm::slaney;
  MelLog log = MelLog::db;  ///< db: 10 · log10.
  double floor = 1e-10;     ///< Smaller values become it before the logarithm.
  double top_db = 80;       ///< Of db: values are at most so far below a row's largest one; 0: any.

  static constexpr std::int64_t usual_rate = 22050;
  [[nodiscard]] double rate() const { return static_cast<double>(sample_rate.value_or(usual_rate)); }
};

}  // namespace forebay
