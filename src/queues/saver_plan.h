// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/state_saver.h>

namespace forebay::queues {

/// A declared tensor, and the sizes that copies of it need.
struct SaverColumn {
  std::string name;
  DType dtype;
  Shape shape;             // of one frame of a sequence, or of the whole tensor
  std::int64_t elements;   // of that
  std::size_t bytes;       // of that; 0 of strings
  std::size_t offset = 0;  // of a state: where its numbers are in LiveExample::states

  [[nodiscard]] bool text() const { return dtype == DType::string; }
};

/// The checked options of a state saver.
struct SaverPlan {
  /// Fails with every fault.
  [[nodiscard]] static Result<SaverPlan> make(const StateSaverOptions& options);

  std::int64_t batch_size, num_unroll;
  std::vector<SaverColumn> sequences, context, states;
  std::size_t state_bytes = 0;             // of the numbers of all states of an example
  std::vector<std::byte> initial = {};     // these numbers
  std::vector<Tensor> initial_texts = {};  // by state; only those of strings are set
  std::optional<std::int64_t> capacity;
  bool allow_small_batch, pad, make_keys_unique, sticky_rows;
  std::chrono::milliseconds save_timeout;
};

/// The place of the column with that name; `what` says what it is, in the plural: "sequences".
[[nodiscard]] Result<std::size_t> find_column(const std::vector<SaverColumn>& columns, std::string_view name,
                                              std::string_view what);

/// Fails unless `tensor` has that type, that shape and memory for it. `what` names it.
[[nodiscard]] Result<void> check_tensor(const Tensor& tensor, DType dtype, const Shape& shape, const std::string& what);

}  // namespace forebay::queues
