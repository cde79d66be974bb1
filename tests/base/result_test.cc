// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <forebay/error.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using Text = Result<std::string>;

TEST(ResultDeathTest, TheValueOfAFailedResultEndsTheProcessWithItsMessage) {
  const Text failed = Error{Code::io, Detail::not_found, "no such file", Place{.file = "a/b"}};
  EXPECT_DEATH(static_cast<void>(*failed), "the value of a failed Result was used; its error: a/b: no such file");
  EXPECT_DEATH(static_cast<void>(failed->size()), "no such file");
}

TEST(ResultDeathTest, TheErrorOfAResultThatHasAValueEndsTheProcess) {
  const Text text{"x"};
  EXPECT_DEATH(static_cast<void>(text.error()), "error\\(\\) of a Result that has a value");
  EXPECT_DEATH(static_cast<void>(Result<void>{}.error()), "error\\(\\) of a Result that has a value");
}

Text doubled(Text in) {
  FOREBAY_TRY(const std::string text, std::move(in));
  return text + text;
}

TEST(Result, TryTakesTheValueOrHandsTheErrorOn) {
  EXPECT_EQ(*doubled(Text{"ab"}), "abab");
  EXPECT_EQ(doubled(Error{Code::data, "bad"}).error().text(), "bad");
}

}  // namespace
}  // namespace forebay
