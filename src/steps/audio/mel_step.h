// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/plugin.h>
#include <forebay/steps/mfcc.h>

namespace forebay::steps {

/// Binds `log_mel` (n_mfcc 0) or `mfcc`.
[[nodiscard]] Result<Bound<Step>> bind_mel(const LogMel& options, std::int64_t n_mfcc, double lifter, const Schema& in);

/// Reads the options of a spectrogram, as far as they are there, for checks without tensors.
void read_mel_options(const Json& options, LogMel& out);

/// A member of LogMel as one of the options that are made of it.
template <class Options, class T>
[[nodiscard]] constexpr T Options::*of(T LogMel::*member) {
  return member;
}

/// Declares the options of a spectrogram.
template <class Options>
void add_mel_fields(Describer<StepType, Options>& type) {
  constexpr std::int64_t max_n_fft = std::int64_t{1} << 20;
  constexpr std::int64_t max_mels = 4096;
  type.required("tensor", of<Options>(&LogMel::tensor), "float32 samples of one axis.")
      .field("out", of<Options>(&LogMel::out), "Name of the result; null: it replaces the tensor.")
      .field("sample_rate", of<Options>(&LogMel::sample_rate),
             "Samples a second; null: as decode_audio made them, else 22050.", {.min = 1, .max = 3'000'000})
      .field("n_fft", of<Options>(&LogMel::n_fft), "Samples of a frame; even.", {.min = 2, .max = max_n_fft})
      .field("hop_length", of<Options>(&LogMel::hop_length), "Samples from frame to frame.",
             {.min = 1, .max = max_n_fft})
      .field("win_length", of<Options>(&LogMel::win_length), "Samples of the window; null: n_fft.",
             {.min = 1, .max = max_n_fft})
      .field("window", of<Options>(&LogMel::window), "hann or hamming.")
      .field("center", of<Options>(&LogMel::center),
             "Whether frames are centred: n_fft / 2 samples of padding at both ends.")
      .field("pad_mode", of<Options>(&LogMel::pad_mode), "Of center: constant (zeros), reflect or edge.")
      .field("power", of<Options>(&LogMel::power), "1: magnitudes; 2: energies.")
      .field("n_mels", of<Options>(&LogMel::n_mels), "Number of filters.", {.min = 1, .max = max_mels})
      .field("fmin", of<Options>(&LogMel::fmin), "Lowest frequency in Hz.")
      .field("fmax", of<Options>(&LogMel::fmax), "Highest frequency in Hz; null: sample_rate / 2.")
      .field("scale", of<Options>(&LogMel::scale), "slaney or htk.")
      .field("norm", of<Options>(&LogMel::norm), "slaney: every filter has the same area; none: the same height.")
      .field("log", of<Options>(&LogMel::log), "db, ln, log10 or none.")
      .field("floor", of<Options>(&LogMel::floor), "Smaller values become it before the logarithm.")
      .field("top_db", of<Options>(&LogMel::top_db),
             "Of db: values are at most so far below a row's largest one; 0: any.");
}

}  // namespace forebay::steps
