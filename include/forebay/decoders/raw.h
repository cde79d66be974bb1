// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <forebay/decoders/example.h>

namespace forebay {

/// Takes the bytes of each record for numbers: one tensor.
struct RawRecords {
  NewTensorName name = "values";                  ///< Name of the tensor.
  DType dtype = DType::float32;                   ///< Not string.
  Shape shape = {unknown_dim};                    ///< Of a record. One size may be -1; `fixed_length` makes it known.
  std::optional<Endian> endian = {};              ///< Byte order. Must be given where an element has several bytes.
  std::optional<std::int64_t> fixed_length = {};  ///< Each record is cut or zero-filled to so many bytes.
  std::optional<Delivery> as = {};                ///< With a size of -1: equal (when left out), padded or ragged.
};

}  // namespace forebay
