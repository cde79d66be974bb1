// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <forebay/field_types.h>

namespace forebay {

/// What becomes of bytes that are no UTF-8.
enum class InvalidUtf8 : std::uint8_t { error, replace };
template <>
struct EnumNames<InvalidUtf8> {
  static constexpr std::array<std::string_view, 2> names{"error", "replace"};
};

/// Checks that strings are well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
struct CheckUtf8 {
  TensorName tensor;                         ///< Strings of any shape.
  std::optional<NewTensorName> out = {};     ///< Name of the checked strings. Empty: they replace `tensor`.
  InvalidUtf8 invalid = InvalidUtf8::error;  ///< error: a fault of the row. replace: U+FFFD for each broken part.
};

}  // namespace forebay
