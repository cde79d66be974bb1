// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/decoder_choice.h>
#include <forebay/field_types.h>

namespace forebay {

/// Decodes the strings of a column, one a row, as a decoder decodes records; the tensors of the decoder are added.
struct DecodeColumn {
  TensorName column;  ///< A string for each row: string, shape [].
  DecoderChoice as;   ///< The decoder and its options.
  bool keep = false;  ///< The strings stay, too. False: they are gone after the step.
};

}  // namespace forebay
