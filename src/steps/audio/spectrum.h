// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <forebay/column.h>
#include <forebay/steps/mfcc.h>

struct kiss_fftr_state;

namespace forebay::steps {

/// A filter bank of triangles over the bins of a spectrum; of each filter only the bins that are not zero are kept.
struct MelFilters {
  struct Filter {
    std::size_t first = 0;   ///< Its first bin.
    std::size_t count = 0;   ///< Its bins.
    std::size_t weight = 0;  ///< Where its weights begin in `weights`.
  };
  std::vector<Filter> filters;
  std::vector<float> weights;

  explicit MelFilters(const LogMel& options);
};

/// What makes spectrograms with one set of options: the window, the filters, the DCT. Immutable: workers share it, each
/// with a MelWorker of its own.
class MelPlan {
 public:
  /// `n_mfcc` 0: the spectrogram itself.
  MelPlan(const LogMel& options, std::int64_t n_mfcc, double lifter);

  [[nodiscard]] std::int64_t frames(std::int64_t samples) const;
  [[nodiscard]] std::int64_t values() const { return n_mfcc_ == 0 ? options_.n_mels : n_mfcc_; }  ///< Of a frame.
  [[nodiscard]] const LogMel& options() const { return options_; }

 private:
  friend class MelWorker;
  LogMel options_;
  std::int64_t n_mfcc_;
  MelFilters filters_;
  std::vector<float> window_;  // n_fft
  std::vector<float> dct_;     // [n_mfcc, n_mels]
};

/// Makes spectrograms, one at a time. Used by one thread at a time.
class MelWorker {
 public:
  explicit MelWorker(const MelPlan& plan);
  /// Fills `out` with `frames(samples)` frames. May throw what the StopCheck throws.
  void run(std::span<const float> samples, float* out, const StopCheck* stop);
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Free {
    void operator()(kiss_fftr_state* state) const;
  };
  void window_frame(std::span<const float> samples, std::int64_t frame);
  void power_spectrum();
  void filter(float* mels) const;
  void take_logarithm(float* values, std::int64_t count) const;

  const MelPlan& plan_;
  std::unique_ptr<kiss_fftr_state, Free> fft_;
  std::vector<float> frame_;     // n_fft
  std::vector<float> bins_;      // real and imaginary parts
  std::vector<float> spectrum_;  // n_fft / 2 + 1
  Storage mels_;                 // of mfcc: the spectrogram of the whole row
};

/// Faults of the options.
[[nodiscard]] Result<void> check_mel_options(const LogMel& options);

}  // namespace forebay::steps
