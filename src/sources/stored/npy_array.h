// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <forebay/rows.h>

namespace forebay::sources {

/// The array in the bytes of an npy file, as a view of them. Reads the header by a grammar of its own; nothing is
/// evaluated, and arrays of objects, which are pickles, are refused. Fails with Code::data.
[[nodiscard]] Result<ArrayView> npy_array(std::span<const std::byte> bytes);

/// The array in the bytes of an IDX file (the format of MNIST): a type, sizes and numbers, all big-endian.
[[nodiscard]] Result<ArrayView> idx_array(std::span<const std::byte> bytes);

}  // namespace forebay::sources
