// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forebay/batch.h>

namespace forebay::tools {

/// Where the elements of each row of a tensor lie: row i is elements [begin(i), begin(i + 1)). Dense and ragged tensors
/// of one level; of more levels all values of the row. The batch must outlive it.
class ValueRows {
 public:
  /// Fails with Code::data for sparse tensors, and for a tensor without a batch axis.
  [[nodiscard]] static Result<ValueRows> make(const Value& value, std::int64_t rows);

  [[nodiscard]] std::size_t begin(std::int64_t row) const {
    if (splits_.empty()) return static_cast<std::size_t>(row) * width_;
    return static_cast<std::size_t>(splits_[static_cast<std::size_t>(row)]) * width_;
  }
  [[nodiscard]] bool ragged() const { return !splits_.empty(); }

 private:
  std::size_t width_ = 1;             // elements of a row, or of one item of a list
  std::vector<std::int64_t> splits_;  // empty: dense
};

/// Integers of a tensor of row splits of either type.
[[nodiscard]] std::vector<std::int64_t> numbers_of(const Tensor& splits);

[[nodiscard]] std::string lengths_name(const std::string& name);  ///< lengths(NAME)
/// The ragged int64 tensor `lengths(NAME)` beside the ragged tensor NAME: each row has the lengths of the lists that
/// its values are cut into. Null: there is none.
[[nodiscard]] const Value* lengths_beside(const Batch& batch, const std::string& name);
/// Whether the tensor has the lengths of another one.
[[nodiscard]] bool are_lengths(const Batch& batch, const std::string& name);

}  // namespace forebay::tools
