// SPDX-License-Identifier: Apache-2.0
// Runs that go on with another number of epochs.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;
using testing::kept;
using testing::rest;
using testing::resumed;

/// The record of every row, with its epoch where the row is the first of a batch.
std::vector<std::string> keys_of(Loader& loader) {
  std::vector<std::string> out;
  for (const Batch& batch : loader.batches()) {
    for (std::int64_t row = 0; row < batch.valid_rows(); ++row) out.push_back(batch.key(row));
  }
  return out;
}

class Lengthened : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override { testing::write_parts(folder_, {20, 31, 9}, {.gzip = 1, .zlib = 3}); }
  [[nodiscard]] Json run_of(const std::string& epochs) const {
    const auto& [remainder, boundary] = GetParam();
    return document(folder_.file("part-?.tfrecord"),
                    R"({"shuffle": {"buffer": 20}}, {"batch": {"size": 14, "remainder": ")" + remainder + "\"}}",
                    R"(, "epochs": )" + epochs + R"(, "epoch_boundary": ")" + boundary + "\"");
  }
  Folder folder_;
};

TEST_P(Lengthened, AtAnyBatchButAShortLastOneGoesOnAsTheLongRun) {
  auto whole = load(run_of("4"));
  const auto all = rest(*whole);
  auto loader = load(run_of("2"));
  const bool hard = std::get<1>(GetParam()) == "hard";
  const bool cuts = !hard && std::get<0>(GetParam()) != "drop";  // 2 × 60 records, 14 a batch: the last one is short
  const std::size_t same = hard ? (std::get<0>(GetParam()) == "drop" ? 8 : 10) : 8;
  for (std::size_t at = 0;; ++at) {
    auto longer = resumed(run_of("4"), kept(*loader));
    ASSERT_TRUE(longer.ok()) << longer.error().text();
    if (at == same + (cuts ? 1 : 0)) break;
    EXPECT_EQ(longer->notice(), "");
    ASSERT_EQ(rest(*longer), std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(at), all.end())) << at;
    auto endless = resumed(run_of("null"), kept(*loader));
    ASSERT_EQ(rest(*endless, 1).front(), all[at]);
    ASSERT_EQ(rest(*loader, 1).size(), at + 1 == same + 1 && !cuts ? 0U : 1U);
  }
}

TEST_P(Lengthened, AtItsEndGoesOnWithTheNextEpochAndSaysWhenABatchWasShort) {
  auto loader = load(run_of("2"));
  static_cast<void>(rest(*loader));
  auto longer = resumed(run_of("4"), kept(*loader));
  ASSERT_TRUE(longer.ok()) << longer.error().text();
  const bool cuts = std::get<1>(GetParam()) == "straddle" && std::get<0>(GetParam()) != "drop";
  EXPECT_EQ(
      longer->notice(),
      cuts ? "the state was saved when its run had ended after 2 epochs, and batch 8 had 8 records there; this run "
             "has more epochs and goes on with the first record of epoch 2, where an unbroken one would have "
             "filled that batch"
           : "");
  auto whole = load(run_of("4"));
  const auto all = keys_of(*whole);
  const auto later = keys_of(*longer);
  if (cuts) {  // `repeat` repeats records of the last batch of all, which differs
    ASSERT_GE(later.size(), 119U);
    for (std::size_t row = 0; row < 119; ++row) ASSERT_EQ(later[row], all[120 + row]) << row;
  }
  auto same = resumed(run_of("2"), kept(*loader));
  EXPECT_EQ(same->notice(), "");
  EXPECT_EQ(rest(*same), std::vector<std::string>{}) << "the end is a place, too";
  EXPECT_EQ(kept(*same), kept(*loader));
}

INSTANTIATE_TEST_SUITE_P(Ends, Lengthened,
                         ::testing::Combine(::testing::Values("keep", "drop", "pad", "repeat"),
                                            ::testing::Values("straddle", "hard")));

TEST(Shortened, ToFewerEpochsThanTheStateHasSeenIsRefused) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 30);
  const auto run_of = [&](int epochs) {
    return document(folder.file("a"), R"({"batch": {"size": 10}})", R"(, "epochs": )" + std::to_string(epochs));
  };
  auto loader = load(run_of(4));
  static_cast<void>(rest(*loader, 7));
  auto shorter = resumed(run_of(3), kept(*loader));
  EXPECT_EQ(rest(*shorter).size(), 2U);
  const auto refused = resumed(run_of(2), kept(*loader));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "the state stands in epoch 2, and this plan has 2 epochs, counted from 0: nothing is left of it; set "
            "`epochs` to 3 or more");
}

}  // namespace
}  // namespace forebay
