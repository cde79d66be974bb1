// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <forebay/error.h>
#include <nanobind/nanobind.h>

namespace forebay::python {

namespace nb = nanobind;

/// Throws the exception of forebay.errors that stands for `error`.
[[noreturn]] void raise(const Error& error);

/// The value, or the exception.
template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return *std::move(result);
}
inline void value_of(Result<void> result) {
  if (!result.ok()) raise(result.error());
}

/// Text that may not be UTF-8 (paths, names of features); what is not survives the way back.
[[nodiscard]] nb::object to_str(std::string_view text);
/// The bytes of a str that came from `to_str`.
[[nodiscard]] std::string from_str(nb::handle text);

}  // namespace forebay::python
