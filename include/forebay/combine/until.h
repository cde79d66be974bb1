// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/combine.h>

namespace forebay {

/// The option `until`: "first", "all" or a number of rows.
struct Until : PassEnd {};

template <>
struct JsonCodec<Until> {
  static std::optional<Until> read(const Json& json, std::vector<Error>& faults);
  static Json write(const Until& value);
  static Json schema();
  static std::string python_type() { return "str | int"; }
};

}  // namespace forebay
