// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <forebay/batch.h>
#include <forebay/json.h>

namespace forebay::cli {

/// Numbers for each tensor that are equal if and only if two runs delivered the same (up to hash collisions):
///   count   number of elements
///   sum     float64 sum of the values (strings: of their byte lengths), added as numpy adds them
///   hash    sum of h(e) over all elements, mod 2^64; order-free
///   order   sum of h(e_i) * (2 i + 1), i counting on from batch to batch
///   shapes  sum of h(shape as int64 list) * (2 k + 1), k the batch
/// h is 64-bit FNV-1a over the little-endian bytes of an element, or a string's bytes.
///
/// A ragged tensor "x" counts as "x.values" and "x.row_splits" ("x.row_splits.1" and so on for the inner axes), a
/// sparse one as "x.values", "x.indices" and "x.dense_shape".
class Digest {
 public:
  void add(const Batch& batch);
  [[nodiscard]] Json json() const;         ///< {rows, batches, tensors: {name: {dtype, count, …}}}, names sorted.
  [[nodiscard]] std::string text() const;  ///< A table.

 private:
  struct Sums {
    std::string dtype;
    std::int64_t count = 0;
    double sum = 0;
    std::uint64_t hash = 0, order = 0, shapes = 0;
  };
  void add(const std::string& name, const Tensor& tensor);

  std::int64_t rows_ = 0;
  std::int64_t batches_ = 0;
  std::map<std::string, Sums> tensors_;
};

}  // namespace forebay::cli
