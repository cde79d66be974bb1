// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Values of protobuf's JSON mapping. Nothing is returned for text that is no such value.
namespace forebay::decoders {

/// A float32 from a number, or from text that may also be "NaN", "Infinity" or "-Infinity". Nothing for a number that
/// float32 cannot hold.
[[nodiscard]] std::optional<float> json_float(std::string_view text, bool quoted);
/// An int64 from a number or text: digits, or a float without a fraction such as 1e3.
[[nodiscard]] std::optional<std::int64_t> json_integer(std::string_view text);
/// Appends the bytes of base64 text, of either alphabet, with or without padding. False: it is no base64.
[[nodiscard]] bool append_base64(std::string_view text, std::string& out);

}  // namespace forebay::decoders
