// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/decoders/example.h>

namespace forebay {

/// Decodes tf.train.Example messages that are written as JSON text, one tensor per feature. The text is read as
/// decode_json_example does (records.h).
struct JsonExampleFeatures {
  FeatureMap features;  ///< By name of the tensor.
};

}  // namespace forebay
