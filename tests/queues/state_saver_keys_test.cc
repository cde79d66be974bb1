// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/queues/saver_examples.h"

namespace forebay {
namespace {

TEST(StateSaver, KeysAreAnyBytesAndComeBackAsTheyWere) {  // row 62 of docs/bad-inputs.md
  for (const std::string& key : {std::string{"a:b"}, std::string{"STOP:a"}, std::string{"\0:\xff", 3},
                                 std::string{"00001_of_00002:a"}, std::string{":"}}) {
    StateSaver saver = tests::saver_of(tests::one_sequence(1, 1));
    ASSERT_TRUE(tests::insert_frames(saver, key, 2).ok());
    ASSERT_TRUE(saver.close().ok());
    std::vector<std::string> keys;
    while (const auto batch = tests::take_now(saver)) {
      for (const std::string& each : tests::keys_of(*batch)) keys.push_back(each);
      ASSERT_TRUE(tests::save_more(*batch).ok());
    }
    EXPECT_THAT(keys, ::testing::ElementsAre("00000_of_00002:" + key, "00001_of_00002:" + key));
  }
}

}  // namespace
}  // namespace forebay
