// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"
#include "tests/sources/windows.h"

namespace forebay::fuzz {

/// Scans a file as the tests do, and checks the rules of formats. Of an error only stays that there is one.
inline tests::WindowScan scan_file(const Format& format, std::string_view file, std::size_t window, std::size_t limit) {
  tests::WindowScan found = tests::scan_in_windows(format, file, window, limit);
  check(!found.error.starts_with(tests::broken), found.error);
  if (!found.error.empty()) found.error = "a fault";
  return found;
}

/// The plug-in of that name.
template <class Type>
const Type& named(const std::vector<Type>& types, std::string_view name) {
  return *std::ranges::find(types, name, [](const Type& type) { return type.description.name; });
}

}  // namespace forebay::fuzz
