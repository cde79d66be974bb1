// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/plugin.h>

namespace forebay {

/// Decodes records that are npy files of numpy, such as the members of a WebDataset archive: one tensor. The header is
/// never evaluated, and arrays of objects, which are pickles, are refused. Every array must have this type and shape,
/// in the order of rows and in little-endian bytes, as numpy writes it.
struct NpyRecords {
  NewTensorName name = "values";  ///< Name of the tensor.
  DType dtype = DType::float32;   ///< Not string and not bfloat16.
  /// Of each array. The first size may be -1: then it differs, and the tensor is ragged.
  Shape shape = {};
};

}  // namespace forebay
