// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"

namespace forebay {
namespace {

std::string encoded(const std::string& text) { return to_base64(std::as_bytes(std::span{text})); }

std::string decoded(const std::string& text) {
  const auto bytes = from_base64(text);
  if (!bytes) return "refused";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// The vectors of RFC 4648.
TEST(Base64, WritesAndReadsTheVectorsOfTheStandard) {
  const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"},
                                                                 {"\xfb\xff\xbf", "+/+/"}};
  for (const auto& [text, digits] : vectors) {
    EXPECT_EQ(encoded(text), digits);
    EXPECT_EQ(decoded(digits), text);
  }
}

TEST(Base64, ReadsEveryByteThatItWrites) {
  for (std::size_t length = 250; length < 256; ++length) {
    std::string all;
    for (std::size_t i = 0; i < length; ++i) all += static_cast<char>(i * 7);
    EXPECT_EQ(decoded(encoded(all)), all);
  }
}

TEST(Base64, RefusesAnyOtherText) {
  for (const char* const text :
       {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Zg==Zg==", "Zm9=", "Zh==", "Zm9v\n", "Zm 9", "Zm9v=", "Zm-_", "Z=g="})
    EXPECT_EQ(decoded(text), "refused") << text;
}

}  // namespace
}  // namespace forebay
