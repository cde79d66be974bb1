// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/decoders/example.h>

namespace forebay {

/// Decodes tf.train.SequenceExample messages: features of the whole sequence, and lists with one feature per step.
struct SequenceExampleFeatures {
  FeatureMap context;  ///< Kinds fixed_len, var_len, ragged and raw.
  FeatureMap lists;    ///< Kinds fixed_len_sequence, var_len, ragged and raw.
};

}  // namespace forebay
