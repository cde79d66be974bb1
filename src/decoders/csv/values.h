// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <forebay/decoders/csv.h>

namespace forebay::decoders {

/// What the text of a field becomes: a number, a bool, or int64 counts of a unit of time.
struct CsvType {
  DType dtype = DType::float32;
  std::optional<TimeUnit> timestamp = {};
};

/// Writes the value of a text as `size_of(type.dtype)` bytes. False: the text is none of the type.
[[nodiscard]] bool parse_value(std::string_view text, const CsvType& type, std::byte* out);

/// The value of a date, or of a date and a time, or nothing: 2024-02-29, 2024-02-29 23:59, 2024-02-29T23:59:30.25Z,
/// 2024-02-29 23:59:30+01:00. Digits after those of the unit must be zeros.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text, TimeUnit unit);

}  // namespace forebay::decoders
