// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/field_types.h>

namespace forebay {

/// What becomes of a sequence that is too long for any batch.
enum class TooLong : std::uint8_t {
  fail,  ///< The run ends with an error that names the record.
  drop,  ///< It is left out.
};

/// Cuts batches in the order of the stream whose longest row times their rows never exceeds a budget.
///
/// Shards by row deal the rows of each batch. Shards by element have batches of their own within the budget: each row
/// goes to the shard whose batch is the smallest with it, and the batches of all shards end together, so that all have
/// as many.
///
///     lengths 5 3 4 4 2, tokens 10     one process: │5 3│4 4│2│     two shards by element: │5 4│2│ and │3 4│ │
struct TokenBudget {
  std::vector<TensorName> keys;          ///< Tensors of which the longest counts; empty: all of unknown first size.
  std::int64_t tokens = 0;               ///< Longest row times rows at most. A row without an element counts as 1.
  std::optional<std::int64_t> max_rows;  ///< Rows of a batch at most.
  TooLong longer = TooLong::fail;        ///< Handling of sequences of more than `tokens` elements.
  bool seq_idx = false;                  ///< Number the sequences of each pass.
  bool epoch_end = false;                ///< End each epoch with an empty row.
  Pad pad = true;
};

}  // namespace forebay
