// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "columns/npy/npy_array.h"

namespace forebay::sources {

/// forebay::npy_layout, whose error names what other kind of file this is.
[[nodiscard]] Result<ArrayLayout> npy_layout(std::span<const std::byte> head);

/// The same for an IDX file.
[[nodiscard]] Result<ArrayLayout> idx_layout(std::span<const std::byte> head);

}  // namespace forebay::sources
