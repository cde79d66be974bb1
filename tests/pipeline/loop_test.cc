// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;

std::vector<std::int64_t> rows_of(Loader& loader) {
  std::vector<std::int64_t> out;
  for (const Batch& batch : loader.batches()) out.push_back(batch.rows());
  return out;
}

TEST(Loop, EndsAtTheEndOfTheRunWithStatusOk) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 10);
  auto loader = load(document(folder.file("a"), R"({"batch": {"size": 4}})"), {.threads = 2});
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ(rows_of(*loader), (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_TRUE(loader->status().ok());
  EXPECT_EQ(rows_of(*loader), std::vector<std::int64_t>{});  // a second loop begins where the first one ended
}

TEST(Loop, EndsAtAnErrorThatStatusTells) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 10);
  std::filesystem::resize_file(folder.file("a"), std::filesystem::file_size(folder.file("a")) - 1);
  auto loader = load(document(folder.file("a"), R"({"batch": {"size": 4}})"), {.threads = 2});
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ(rows_of(*loader), (std::vector<std::int64_t>{4, 4}));
  ASSERT_FALSE(loader->status().ok());
  EXPECT_EQ(loader->status().error().text(), loader->next().error().text());
  EXPECT_EQ(loader->status().error().place().record, 9);
}

TEST(Loop, ThatIsLeftGoesOnInTheNextOneAndStatesStandAfterItsBatch) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 10);
  auto loader = load(document(folder.file("a"), R"({"batch": {"size": 3}})"), {.threads = 1});
  ASSERT_TRUE(loader.ok());
  for (const Batch& batch : loader->batches()) {
    if (batch.number() == 1) break;
  }
  const auto state = loader->state();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(rows_of(*loader), (std::vector<std::int64_t>{3, 1}));
  ASSERT_TRUE(loader->restore(*state).ok());
  EXPECT_EQ(rows_of(*loader), (std::vector<std::int64_t>{3, 1}));
}

TEST(Loop, OfAClosedLoaderHasTheStatusCancelledUntilItIsRestored) {
  const Folder folder;
  testing::write_examples(folder.file("a"), 0, 10);
  auto loader = load(document(folder.file("a"), R"({"batch": {"size": 3}})"), {.threads = 1});
  ASSERT_TRUE(loader.ok());
  loader->close();
  EXPECT_EQ(rows_of(*loader), std::vector<std::int64_t>{});
  EXPECT_EQ(loader->status().error().code(), Code::cancelled);
}

}  // namespace
}  // namespace forebay
