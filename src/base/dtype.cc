// SPDX-License-Identifier: Apache-2.0
#include <forebay/dtype.h>

#include <array>

namespace forebay {

namespace {
constexpr std::array<std::string_view, 16> names_of_types{
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "string"};
}  // namespace

std::string_view to_string(DType dtype) { return names_of_types[static_cast<std::size_t>(dtype)]; }

std::span<const std::string_view> dtype_names() { return names_of_types; }

std::optional<DType> dtype_from(std::string_view name) {
  for (std::size_t i = 0; i < names_of_types.size(); ++i) {
    if (names_of_types[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace forebay
