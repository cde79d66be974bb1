// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"

namespace forebay::sources {

/// Finds line feeds: writes their offsets in `bytes` to `out`, ascending, until `out` is full. Returns their number.
/// Offsets of 4 GiB and more do not fit: `bytes` must be shorter.
using FindNewlines = std::size_t (*)(std::span<const std::byte> bytes, std::span<std::uint32_t> out);

/// The kernel for this processor.
[[nodiscard]] std::size_t find_newlines(std::span<const std::byte> bytes, std::span<std::uint32_t> out);

/// The kernels that this processor can run, for tests. They give equal results.
[[nodiscard]] std::span<const FindNewlines> newline_twins();

}  // namespace forebay::sources
