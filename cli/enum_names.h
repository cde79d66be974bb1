// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/json_codec.h>

/// Options that take one of several names, the same names as in documents.
namespace forebay::cli {

template <class E>
[[nodiscard]] std::string_view name_of(E value) {
  return EnumNames<E>::names[static_cast<std::size_t>(value)];
}

/// For CLI::IsMember.
template <class E>
[[nodiscard]] std::vector<std::string> names_of() {
  return {EnumNames<E>::names.begin(), EnumNames<E>::names.end()};
}

/// `name` must be one of names_of<E>().
template <class E>
[[nodiscard]] E value_of(std::string_view name) {
  const auto& names = EnumNames<E>::names;
  return static_cast<E>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace forebay::cli
