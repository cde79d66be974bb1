// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <forebay/error.h>
#include <nanobind/nanobind.h>

namespace forebay::python {

namespace nb = nanobind;

/// Throws the exception of forebay.errors for `error`.
[[noreturn]] void raise(const Error& error);

/// The value of a result. Throws the exception of a failed one.
template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return *std::move(result);
}
inline void value_of(Result<void> result) {
  if (!result.ok()) raise(result.error());
}

/// A str of text that may not be UTF-8 (paths, names of features). `from_str` gives back the same bytes.
[[nodiscard]] nb::object to_str(std::string_view text);
/// The bytes of a str that came from `to_str`.
[[nodiscard]] std::string from_str(nb::handle text);
[[nodiscard]] std::vector<std::string> from_strs(const nb::list& texts);

}  // namespace forebay::python
