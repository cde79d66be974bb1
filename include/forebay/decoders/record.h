// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/field_types.h>

namespace forebay {

/// Delivers the bytes of each record unchanged.
struct RecordBytes {
  NewTensorName name = "record";  ///< Name of the tensor: string, shape [].
};

}  // namespace forebay
