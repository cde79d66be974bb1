// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <forebay/schema.h>

/// The rate of samples, as ColumnSpec::logical says it: "samples[16000 Hz]", or "samples" where each row has its own.
namespace forebay::steps {

inline constexpr std::string_view samples_word = "samples";

/// `rate`: in Hz; 0: each row has its own.
[[nodiscard]] inline std::string samples_of(std::int64_t rate) {
  return rate == 0 ? std::string{samples_word} : fmt::format("{}[{} Hz]", samples_word, rate);
}

/// In Hz; 0: each row has its own. Nothing: the column does not say it.
[[nodiscard]] inline std::optional<std::int64_t> rate_in(const ColumnSpec& column) {
  std::string_view text = column.logical;
  if (text == samples_word) return 0;
  if (!text.starts_with(samples_word)) return std::nullopt;
  text.remove_prefix(samples_word.size());
  std::int64_t rate = 0;
  if (!text.starts_with('[')) return std::nullopt;
  std::from_chars(text.data() + 1, text.data() + text.size(), rate);
  return rate;
}

}  // namespace forebay::steps
