// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forebay/batch.h>

#include "errors.h"

/// Tensors as NumPy arrays. Every function needs the interpreter lock.
namespace forebay::python {

void import_numpy();  ///< Called once, before the others.

/// A writable array over the tensor's memory, which the array keeps alive. Strings become an object array of bytes.
/// `bfloat16` is the NumPy type of that name. Null: the array has its bits, as uint16.
[[nodiscard]] nb::object to_array(const Tensor& tensor, nb::handle bfloat16 = {});
/// The numbers of an array of NumPy, or of what NumPy makes one of, in row-major order. The tensor is valid as long as
/// `owner`, which it sets. Throws TypeError for an array of other things than numbers; `what` names it.
[[nodiscard]] Tensor to_tensor(nb::handle array, const std::string& what, nb::object& owner);
/// Where the values of an array of NumPy lie; null for any other object.
[[nodiscard]] const void* data_of(nb::handle object);
/// (offsets, bytes) of a string tensor: read-only views.
[[nodiscard]] nb::object to_raw(const Tensor& tensor);

/// New arrays with a copy of the values.
[[nodiscard]] nb::object copy_array(const std::vector<std::int64_t>& values);
[[nodiscard]] nb::object copy_array(const std::vector<float>& values);
[[nodiscard]] nb::object copy_flags(const std::vector<std::uint8_t>& flags);  ///< bool, from 0 and 1.
/// The values of a contiguous array of that type with one axis. Nothing: the object is something else.
[[nodiscard]] std::optional<std::vector<std::int64_t>> int64_values(nb::handle array);
[[nodiscard]] std::optional<std::vector<float>> float32_values(nb::handle array);

}  // namespace forebay::python
