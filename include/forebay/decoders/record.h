// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace forebay {

/// Delivers the bytes of each record as they are.
struct RecordBytes {
  std::string name = "record";  ///< Name of the tensor: string, shape [].
};

}  // namespace forebay
