// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/field_types.h>
#include <forebay/windows/by_key.h>

namespace forebay {

/// Cuts batches whose size in frames is limited; the number of rows varies. A limit is for every key, or for each key
/// that it names. A sequence that alone exceeds `batch_size` or `packed_batch_size` is a batch of its own.
///
/// With `recurrent: false` a batch is one row: the frames of one sequence after the other, `batch_size` of them. A
/// sequence that is cut there goes on in the next batch.
struct Frames {
  std::vector<TensorName> keys;           ///< Tensors whose frames count; empty: all whose first size is unknown.
  std::optional<FramesByKey> batch_size;  ///< Frames of a batch with its padding at most: longest row × rows.
  std::optional<FramesByKey> packed_batch_size;    ///< Frames of a batch without padding at most.
  std::optional<std::int64_t> max_seqs;            ///< Rows of a batch at most; of a row of many, its sequences.
  std::optional<FramesByKey> max_pad_size;         ///< Frames of padding of a batch at most.
  std::optional<FramesByKey> max_seq_length;       ///< Longer sequences are left out.
  std::optional<FramesByKey> min_seq_length;       ///< Shorter sequences are left out.
  std::optional<std::int64_t> max_total_num_seqs;  ///< Sequences of a pass at most, without those left out before.
  double seq_drop = 0;                             ///< Probability that a sequence or window is left out, in each pass.
  std::optional<TensorName> weight;                ///< Tensor of shape []: the weight of a sequence.
  double mean_weight = 1;                          ///< Mean of the weights.
  double pruning = 0;                              ///< How strongly sequences of small weight are left out; 0: not.
  bool recurrent = true;                           ///< false: sequences lie one after the other in a single row.
  bool seq_idx = false;                            ///< Number the sequences of each pass.
  bool epoch_end = false;                          ///< End each epoch with an empty row.
  Pad pad = true;
};

}  // namespace forebay
