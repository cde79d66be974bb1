// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/steps/log_mel.h>

namespace forebay {

/// Makes mel frequency cepstral coefficients [frames, n_mfcc] of float32 samples [samples]: the orthonormal DCT-II of
/// each frame of `log_mel`, with the same options. The defaults are those of librosa.feature.mfcc.
struct Mfcc : LogMel {
  std::int64_t n_mfcc = 20;  ///< Coefficients of a frame, at most n_mels.
  double lifter = 0;         ///< Above 0: coefficient k is multiplied by 1 + lifter / 2 · sin(pi · (k + 1) / lifter).
};

}  // namespace forebay
