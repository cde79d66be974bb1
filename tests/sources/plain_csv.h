// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

#include "tests/sources/windows.h"

namespace forebay::tests {

/// The rule of the source `csv` in its plainest form, one character after the other. `error` says no more than that
/// there is one.
[[nodiscard]] inline WindowScan plain_csv(std::string_view content, char delimiter = ',') {
  enum class State { field, plain, quoted, closed };
  WindowScan out;
  State state = State::field;
  std::string record;
  const auto finish = [&] {
    if (record.ends_with('\r')) record.pop_back();
    out.records.push_back(std::exchange(record, ""));
    state = State::field;
  };
  for (const char each : content) {
    if (each == '\n' && state != State::quoted) {
      finish();
      continue;
    }
    record += each;
    if (state == State::quoted) {
      if (each == '"') state = State::closed;
    } else if (each == '"' && state != State::plain) {
      state = State::quoted;
    } else if (each == delimiter) {
      state = State::field;
    } else if (each != '\r' || state != State::field) {
      state = State::plain;
    }
  }
  if (state == State::quoted) out.error = "a fault";
  if (out.error.empty() && !record.empty() && record != "\r") finish();
  return out;
}

}  // namespace forebay::tests
