// SPDX-License-Identifier: Apache-2.0
// Threads that wait for bytes of a FileSystem sleep.
#include <chrono>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"
#include "tests/support/slow_files.h"

namespace forebay {
namespace {

using testing::Folder;
using tests::SlowFiles;
using namespace std::chrono_literals;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(RequestedWait, NoThreadIsBusyUntilTheFirstBytesCome) {
  const Folder folder;
  std::string files;
  for (int i = 0; i < 3; ++i) {
    const std::string path = testing::write_examples(folder.file(std::to_string(i)), i * 100, 100, Compression::none);
    files += (files.empty() ? "slow://" : R"(", "slow://)") + path;
  }
  SlowFiles& slow = SlowFiles::get();
  slow.behave({.latency = 1500ms});
  auto loader = load(testing::document(files, R"({"batch": {"size": 60}})"), {.threads = 3});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const double before = processor_seconds();
  std::int64_t rows = 0;
  while (auto batch = *loader->next()) rows += batch->rows();
  EXPECT_EQ(rows, 300);
  EXPECT_LT(processor_seconds() - before, 1) << "of four threads that wait for 1.5 seconds at least";
  slow.behave({});
}

}  // namespace
}  // namespace forebay
