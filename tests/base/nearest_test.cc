// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include <forebay/messages.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(Nearest, TwoSwappedLettersCountOnce) {
  const std::vector<std::string> types{"float16", "bfloat16", "float32", "float64"};
  EXPECT_EQ(nearest("float23", types), "float32");
  EXPECT_EQ(nearest("flaot64", types), "float64");
}

TEST(Nearest, CaseIsIgnoredAndWhatIsFarIsNoHint) {
  EXPECT_EQ(nearest("CHEKC", std::vector<std::string>{"head", "check"}), "check");
  EXPECT_EQ(nearest("xyzzy", std::vector<std::string>{"head", "check"}), "");
}

}  // namespace
}  // namespace forebay
