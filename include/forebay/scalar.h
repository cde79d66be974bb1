// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <forebay/json_codec.h>

namespace forebay {

/// The value of an option whose type depends on a tensor. std::monostate: the option is left out.
using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// A scalar, or the values of a tensor in row-major order.
using DefaultValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<bool>,
                                  std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// A Scalar in documents: null, a boolean, a number or a string.
template <>
struct JsonCodec<Scalar> {
  static std::optional<Scalar> read(const Json& json, std::vector<Error>& faults);
  static Json write(const Scalar& value);
  static Json schema();
  static std::string python_type();
};

/// The value as JSON: a scalar, or a flat list.
[[nodiscard]] Json to_json(const DefaultValue& value);

}  // namespace forebay
