// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <forebay/field_types.h>

namespace forebay {

/// Makes the n-grams of a row: first those of `min` items from left to right, then those of min + 1, up to `max`. A
/// row of fewer items than n has none of that length. The items are the bytes of a scalar string, or the tokens of a
/// row [tokens].
struct Ngrams {
  TensorName tensor;                         ///< Scalar strings, or strings of one axis.
  std::optional<NewTensorName> out = {};     ///< Name of the n-grams. Empty: they replace `tensor`.
  std::int64_t min = 1;                      ///< Items of the shortest n-grams.
  std::int64_t max = 2;                      ///< Items of the longest ones.
  std::string separator = " ";               ///< Between the tokens of an n-gram; bytes have none between them.
  std::optional<std::int64_t> buckets = {};  ///< int64 numbers below this, by hash; empty: strings.
};

}  // namespace forebay
