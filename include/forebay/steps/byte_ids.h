// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// Turns strings into the numbers of their bytes: [start], byte + offset of each byte, [end].
struct ByteIds {
  TensorName tensor;                           ///< Scalar strings.
  std::optional<NewTensorName> out = {};       ///< Name of the numbers. Empty: they replace `tensor`.
  std::int64_t offset = 0;                     ///< Added to each byte.
  std::optional<std::int64_t> start = {};      ///< A number before the first byte.
  std::optional<std::int64_t> end = {};        ///< A number after the last byte.
  std::optional<std::int64_t> max_bytes = {};  ///< Bytes of a row; the rest is dropped.
  DType dtype = DType::int64;                  ///< int64, int32 or int16; or uint8, which holds 0 to 255.
};

}  // namespace forebay
