// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "engine/order/files/open_files.h"
#include "engine/program/plan_access.h"
#include "engine/program/program.h"
#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::document;
using testing::Folder;
using testing::write_examples;

TEST(Sloppy, ARunDeliversEveryRecordOnce) {
  const Folder folder;
  for (std::int64_t file = 0; file < 9; ++file) {
    const auto compressed = file % 2 == 0 ? Compression::gzip : Compression::none;
    write_examples(folder.file("part-" + std::to_string(file)), file * 400, 400, compressed);
  }
  const Json json = document(folder.file("part-*"),
                             R"({"interleave": {"cycle": 4, "block": 3, "sloppy": true}}, {"batch": {"size": 50}})",
                             R"(, "deterministic": false)");
  for (const std::int64_t threads : {1, 4}) {
    auto pipeline = load(json, {.threads = threads});
    ASSERT_TRUE(pipeline.ok());
    std::vector<std::int64_t> ids;
    while (true) {
      const auto batch = pipeline->next();
      ASSERT_TRUE(batch.ok()) << batch.error().text();
      if (!*batch) break;
      const auto more = (*batch)->tensor("id").as<std::int64_t>();
      ids.insert(ids.end(), more.begin(), more.end());
    }
    std::sort(ids.begin(), ids.end());
    std::vector<std::int64_t> expected(9 * 400);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::int64_t>(i);
    EXPECT_EQ(ids, expected) << threads;
  }
}

// A sloppy interleave passes over what is not ready: a file that has ended must not keep its slot.
TEST(OpenFiles, AFileAtItsEndIsReady) {
  const Folder folder;
  for (const Compression compressed : {Compression::none, Compression::gzip}) {
    const std::string path = write_examples(folder.file("records"), 0, 10, compressed);
    const auto plan = Plan::make(document(path, R"({"batch": {"size": 5}})"));
    ASSERT_TRUE(plan.ok());
    engine::OpenFiles streams{engine::program_of(*plan), std::make_shared<engine::BufferPool>(1 << 26)};
    const auto stream = streams.open({.block = 0});
    EXPECT_FALSE(streams.ready(stream));  // no thread has scanned it
    std::vector<Handle> out(10);
    ASSERT_TRUE(streams.read(stream, out).ok());
    EXPECT_TRUE(streams.ready(stream));
    const auto end = streams.read(stream, out);
    EXPECT_TRUE(end.ok() && *end == 0);
    EXPECT_TRUE(streams.ready(stream));
    streams.close(stream);
  }
}

}  // namespace
}  // namespace forebay
