// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <forebay/json.h>

namespace forebay {

/// What becomes of a last batch that is not full.
enum class Remainder : std::uint8_t {
  keep,    ///< It is delivered short.
  drop,    ///< It is left out.
  pad,     ///< It is filled up with empty rows; Batch::valid_rows says how many are real.
  repeat,  ///< It is filled up with its own records, from its first one on.
};

/// Cuts the stream into batches of one size.
struct FixedBatch {
  std::int64_t size = 32;                 ///< Rows of a batch.
  Remainder remainder = Remainder::keep;  ///< What becomes of a last batch that is not full.
  /// false; true: pad every tensor's unknown dims to the batch's maximum; or a list of {tensor, shape, value}.
  Json pad = false;
  bool require_equal = false;  ///< Refuse rows of unequal shape instead of delivering them ragged.
};

}  // namespace forebay
