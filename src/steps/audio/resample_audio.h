// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <forebay/column.h>
#include <forebay/steps/decode_audio.h>

struct soxr;

namespace forebay::steps {

/// Changes the sample rate of whole clips with soxr. Keeps the filter of the last pair of rates. Used by one thread at
/// a time; starts no thread.
class AudioResampler {
 public:
  /// Number of frames that `frames` frames become: to the nearest, halves up.
  [[nodiscard]] static std::int64_t resampled(std::int64_t frames, std::int64_t from, std::int64_t to);

  struct Rates {
    std::int64_t from = 0, to = 0, channels = 0;
    bool operator==(const Rates&) const = default;
  };
  /// Appends `resampled(frames)` frames to `out`. May throw what the StopCheck throws.
  [[nodiscard]] Result<void> run(const Rates& rates, ResampleQuality quality, const float* samples, std::int64_t frames,
                                 Storage& out, const StopCheck* stop);

 private:
  struct Delete {
    void operator()(soxr* resampler) const;
  };
  [[nodiscard]] Result<void> begin(const Rates& rates, ResampleQuality quality);

  Rates rates_;
  std::unique_ptr<soxr, Delete> soxr_;
};

}  // namespace forebay::steps
