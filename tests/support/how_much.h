// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace forebay::tests {

/// Whether this is a build with a sanitizer. Such a build is several times slower and needs more address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// A number of cases, or a distance between them, of a test that has thousands of cases alike: `all` with
/// FOREBAY_LONG_TESTS=1
/// (`make test-all`), `sample` in `make test`, `small` in a build with a sanitizer.
template <class Number>
Number how_much(Number all, Number sample, Number small) {
  if (sanitized) return small;
  const char* const asked = std::getenv("FOREBAY_LONG_TESTS");
  return asked && std::string_view{asked} == "1" ? all : sample;
}

}  // namespace forebay::tests
