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

std::vector<std::string> without_indexes(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    const bool wild = path.find_first_of("*?[") != std::string::npos;
    if (wild || !is_index_path(path)) out.push_back(path);
  }
  const std::size_t passed = paths.size() - out.size();
  if (passed > 0) {
    fmt::print(stderr, "forebay: note: {} {} skipped: {}\n", passed,
               passed == 1 ? "index (.fbindex) is" : "indexes (.fbindex) are", "they lie beside the data");
  }
  return out;
}

}  // namespace forebay::cli
