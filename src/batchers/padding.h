// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/batcher.h>

namespace forebay::batchers {

/// Adds the tensors that `pad` names to `batching`, with their sizes and values. Returns whether anything is padded.
/// Fails with the faults of all entries.
[[nodiscard]] Result<bool> read_padding(const Pad& pad, const Schema& in, Batching& batching);

}  // namespace forebay::batchers
