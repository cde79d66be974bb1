// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/batcher.h>

namespace forebay::batchers {

/// Adds the tensors that `pad` names to `batching`, with their sizes and values. Returns whether anything is padded.
/// Fails with the faults of all entries.
[[nodiscard]] Result<bool> read_padding(const Pad& pad, const Schema& in, Batching& batching);

/// The same for a batcher that also has the option `require_equal`, and sets how variable columns are delivered. Fails
/// when both are asked for.
[[nodiscard]] Result<bool> read_delivery(const Pad& pad, bool require_equal, const Schema& in, Batching& batching);

/// Sets what the options `seq_idx` and `epoch_end` say.
template <class Options>
void set_numbers(const Options& options, Batching& batching) {
  batching.numbers = options.seq_idx || options.epoch_end;
  batching.epoch_end = options.epoch_end;
}
inline constexpr const char* seq_idx_doc =
    "Number the sequences of each pass as they come: `seq_idx` of a batch has the number of each row.";
inline constexpr const char* epoch_end_doc =
    "The last batch of each epoch gets one empty row more, whose `seq_idx` is the number of sequences of the epoch; an "
    "epoch without a batch gets a batch of that row alone. Needs hard epochs, or a single one.";

}  // namespace forebay::batchers
