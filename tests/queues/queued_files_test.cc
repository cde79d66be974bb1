// SPDX-License-Identifier: Apache-2.0
#include <forebay/queued_files.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(QueuedFiles, GiveEachRequestToOneThreadAndItsAnswerToWhoAsked) {
  const QueuedFiles files{true};
  const auto system = files.system();
  EXPECT_TRUE(system->lists());
  std::optional<FileVersion> found;
  std::optional<std::size_t> count;
  std::vector<std::string> listed;
  std::array<std::byte, 4> bytes{};
  const auto run = std::make_shared<int>();
  system->find("a", [&](auto version) { found = *version; });
  system->read({.path = "a", .version = {}, .offset = 3, .out = bytes, .memory = {}, .wanted = run},
               [&](auto got) { count = *got; });
  system->list("f/", true, [&](auto files) {
    for (const ListedFile& file : *files) listed.push_back(file.path);
  });
  EXPECT_TRUE(files.needs_thread());
  FileJob find = *files.take();
  EXPECT_TRUE(find.is_find() && find.path() == "a" && find.read() == nullptr && find.list() == nullptr);
  find.read_bytes(1);  // of another kind
  EXPECT_FALSE(find.answered());
  find.found({.size = 7, .version = 9});
  EXPECT_TRUE(find.answered());
  EXPECT_EQ(found->size, 7);
  EXPECT_EQ(found->version, 9U);
  FileJob read = *files.take();
  ASSERT_NE(read.read(), nullptr);
  EXPECT_EQ(read.read()->offset, 3);
  std::memcpy(read.read()->out.data(), "wxyz", 4);
  read.read_bytes(4);
  EXPECT_EQ(count, 4U);
  EXPECT_EQ(bytes[3], std::byte{'z'});
  FileJob list = *files.take();
  EXPECT_TRUE(list.list()->deep);
  list.listed({{.path = "f/b", .version = {}}, {.path = "f/a", .version = {}}});
  EXPECT_EQ(listed, (std::vector<std::string>{"f/b", "f/a"}));
}

TEST(QueuedFiles, NeedAThreadUnlessOneWaitsForTheNextRequest) {
  const QueuedFiles files{false};
  EXPECT_TRUE(files.needs_thread());
  std::thread waits{[&] {
    const auto job = files.take();
    EXPECT_TRUE(job && job->is_find());
  }};
  while (files.needs_thread()) std::this_thread::yield();
  files.system()->find("a", [](const auto&) {});
  waits.join();
  EXPECT_TRUE(files.needs_thread());
}

TEST(QueuedFiles, AnswerForWhoDropsARequestAndPassOverOnesThatNobodyWants) {
  const QueuedFiles files{false};
  const auto system = files.system();
  Code code = Code::config;
  system->find("a", [&](const auto& version) { code = version.error().code(); });
  static_cast<void>(files.take());  // and drops it
  EXPECT_EQ(code, Code::internal);
  auto run = std::make_shared<int>();
  system->read({.path = "a", .version = {}, .offset = 0, .out = {}, .memory = {}, .wanted = run},
               [&](const auto& got) { code = got.error().code(); });
  system->find("b", [](const auto&) {});
  run.reset();
  const auto next = files.take();
  EXPECT_EQ(next->path(), "b");
  EXPECT_EQ(code, Code::cancelled);
}

TEST(QueuedFiles, AfterACloseNobodyWaits) {
  const QueuedFiles files{false};
  int failed = 0;
  const auto fails = [&](const auto& version) { failed += version.ok() ? 0 : 1; };
  std::thread waits{[&] { EXPECT_FALSE(files.take()); }};
  files.close();
  waits.join();
  files.system()->find("a", fails);
  EXPECT_FALSE(files.take());
  EXPECT_EQ(failed, 1);
  const QueuedFiles others{false};
  others.system()->find("a", fails);
  others.close();
  EXPECT_EQ(failed, 2);
}

}  // namespace
}  // namespace forebay
