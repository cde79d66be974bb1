// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "columns/wire.h"
#include "decoders/feature_plan.h"

/// Bytes that are numbers, for features of kind `raw` and for the decoder `raw`.
namespace forebay::decoders {

/// The number of elements that `bytes` bytes make: as many as there are, or as many as `fixed_length` says; of a known
/// shape (Output::shape) `Output::count`. Fails with the words of the fault when the bytes do not fit.
[[nodiscard]] Result<std::int64_t> raw_count(const Output& output, std::size_t bytes);

/// Writes `count` elements at `to`. The bytes are cut or filled with zeros to their size, then swapped where the byte
/// order is not this machine's; a complex number has two parts. Booleans become 0 or 1.
void copy_raw(const Output& output, columns::Wire bytes, std::int64_t count, std::byte* to);

}  // namespace forebay::decoders
