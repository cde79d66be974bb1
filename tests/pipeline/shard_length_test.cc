// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

TEST(ShardByFile, OfMoreRecordsThanCanBeCountedIsRefusedAndDoesNotEndEarly) {
  const testing::Folder folder;
  testing::write_examples(folder.file("0.tfrecord"), 0, 10);
  testing::write_examples(folder.file("1.tfrecord"), 10, 10);
  const auto error_of = [&](const std::string& count) {
    const Json json =
        testing::document(folder.path() + "/*.tfrecord", R"({"interleave": {}}, {"repeat": {"count": )" + count +
                                                             R"(}}, {"repeat": {"count": )" + count +
                                                             R"(}}, {"batch": {"size": 4, "remainder": "drop"}})");
    auto pipeline = load(json, {.threads = 1, .shard_index = 0, .shard_count = 2, .shard_by = ShardBy::file});
    if (!pipeline.ok()) return pipeline.error().message();
    const auto batch = pipeline->next();
    return batch.ok() ? std::string{*batch ? "a batch" : "the end"} : batch.error().message();
  };
  EXPECT_EQ(error_of("3"), "a batch");
  EXPECT_EQ(error_of("1000000000"),
            "shard: an order of the document gives for ever, or more than 2^63 records; shard by rows");
}

}  // namespace
}  // namespace forebay
