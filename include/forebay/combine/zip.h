// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <forebay/combine.h>

namespace forebay {

/// The option `until` of `zip`.
enum class ZipEnd : std::uint8_t { first };
template <>
struct EnumNames<ZipEnd> {
  static constexpr std::array<std::string_view, 1> names{"first"};
};

/// Row i of every branch side by side: a row has the tensors of all branches. Every pass begins anew with each branch.
struct Zip {
  std::optional<ZipEnd> until =
      {};             ///< first: a pass ends with the shortest branch. Empty: other lengths are an error.
  Branches branches;  ///< At least one; no tensor name occurs twice.
};

}  // namespace forebay
