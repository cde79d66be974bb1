// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Splits strings into tokens. Without a separator tokens are the longest runs of other bytes than ASCII white space
/// (space, \t, \n, \v, \f, \r). With one they lie between its occurrences, found from the left, and may be empty.
struct SplitText {
  TensorName tensor;                            ///< Scalar strings.
  std::optional<NewTensorName> out = {};        ///< Name of the tokens. Empty: they replace `tensor`.
  std::optional<std::string> separator = {};    ///< Not the empty string; empty optional: white space.
  bool skip_empty = false;                      ///< Whether empty tokens between separators are left out.
  std::optional<std::int64_t> max_tokens = {};  ///< Of a row; the text after them is dropped.
};

}  // namespace forebay
