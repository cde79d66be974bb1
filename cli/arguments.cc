// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <charconv>
#include <cmath>

#include <fmt/core.h>
#include <forebay/index.h>
#include <forebay/messages.h>

namespace forebay::cli {

namespace {

template <class Number>
bool read(const std::string& text, Number& out) {
  const char* const end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, out);
  return done.ec == std::errc{} && done.ptr == end;
}

}  // namespace

CLI::Validator whole_number(std::int64_t min, std::int64_t max) {
  return CLI::Validator{[min, max](const std::string& text) -> std::string {
                          std::int64_t value = 0;
                          if (read(text, value) && min <= value && value <= max) return {};
                          const std::string range = max == no_limit ? fmt::format("of {} or more", min)
                                                                    : fmt::format("from {} to {}", min, max);
                          return fmt::format("must be an integer {}; found {}", range, quote(text));
                        },
                        ""};
}

CLI::Validator positive_number() {
  return CLI::Validator{[](const std::string& text) -> std::string {
                          double value = 0;
                          if (read(text, value) && value > 0 && std::isfinite(value)) return {};
                          return fmt::format("must be a number above 0; found {}", quote(text));
                        },
                        ""};
}

CLI::Validator not_empty() {
  return CLI::Validator{[](const std::string& text) -> std::string {
                          return text.empty() ? "must not be empty; give a value or leave the option out" : "";
                        },
                        ""};
}

}  // namespace forebay::cli
