// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <forebay/batch.h>

#include "errors.h"

/// Tensors as NumPy arrays. All need the interpreter's lock.
namespace forebay::python {

void import_numpy();  ///< Once, before the others.

/// The array over the tensor's memory, writable, which it keeps alive; strings become an object array of bytes.
/// `bfloat16` is the NumPy type of that name, or null for its bits as uint16.
[[nodiscard]] nb::object to_array(const Tensor& tensor, nb::handle bfloat16 = {});
/// (offsets, bytes) of a string tensor: read-only views.
[[nodiscard]] nb::object to_raw(const Tensor& tensor);

/// New arrays with a copy of the values.
[[nodiscard]] nb::object copy_array(const std::vector<std::int64_t>& values);
[[nodiscard]] nb::object copy_array(const std::vector<float>& values);
/// The values of an array of that type and one axis, which must be contiguous; nothing when it is something else.
[[nodiscard]] std::optional<std::vector<std::int64_t>> int64_values(nb::handle array);
[[nodiscard]] std::optional<std::vector<float>> float32_values(nb::handle array);

}  // namespace forebay::python
