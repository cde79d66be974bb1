// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orders/sequences/draws.h"
#include "orders/sequences/mode.h"

namespace forebay::orders {

/// The full order of `n` sequences, numbered from 0. `keys` are in the order of their lengths; modes that do not sort
/// need none. All sorts are stable: where random numbers are drawn, on the permuted order.
[[nodiscard]] std::vector<std::uint32_t> arrange(const Mode& mode, std::uint32_t n, std::span<const std::uint64_t> keys,
                                                 bool keep_tail, Draws& draws);

/// Bytes of memory for each sequence that `arrange` takes at most, with its result.
[[nodiscard]] std::int64_t bytes_to_arrange(const Mode& mode);

}  // namespace forebay::orders
