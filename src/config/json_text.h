// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace forebay::config {

/// Appends the text as a JSON string, in quotes, as Json::text prints it.
void append_json(std::string_view text, std::string& out);

/// "nan", "inf" or "-inf": how documents write a number that JSON does not have.
[[nodiscard]] std::string_view name_of(double not_finite);

}  // namespace forebay::config
