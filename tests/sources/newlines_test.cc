// SPDX-License-Identifier: Apache-2.0
#include "sources/newlines.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::sources {
namespace {

using Offsets = std::vector<std::uint32_t>;

Offsets plainly(const std::string& text, std::size_t max) {
  Offsets out;
  for (std::size_t i = 0; i < text.size() && out.size() < max; ++i)
    if (text[i] == '\n') out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

Offsets by(FindNewlines kernel, const std::string& text, std::size_t max) {
  Offsets out(max);
  out.resize(kernel(std::as_bytes(std::span{text}), out));
  return out;
}

TEST(Newlines, EveryKernelFindsThemAllInTextOfAnyLengthAndDensity) {
  for (std::size_t every : {1U, 2U, 7U, 63U, 64U, 65U, 200U}) {
    for (std::size_t size = 0; size < 300; ++size) {
      std::string text(size, '\x0b');  // one more than a line feed
      for (std::size_t i = every - 1; i < size; i += every) text[i] = '\n';
      for (const FindNewlines kernel : newline_twins()) EXPECT_EQ(by(kernel, text, 400), plainly(text, 400));
    }
  }
}

TEST(Newlines, AFullListEndsTheSearch) {
  const std::string text(300, '\n');
  for (const std::size_t max : {0U, 1U, 31U, 64U, 65U, 299U, 300U, 301U}) {
    for (const FindNewlines kernel : newline_twins()) EXPECT_EQ(by(kernel, text, max), plainly(text, max));
  }
}

}  // namespace
}  // namespace forebay::sources
