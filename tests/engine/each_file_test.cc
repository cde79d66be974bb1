// SPDX-License-Identifier: Apache-2.0
#include "engine/each_file.h"

#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/index_parallel.h"
#include "engine/program.h"
#include "formats/framing.h"
#include "tests/formats/frames.h"
#include "tests/io/files.h"
#include "tests/support/sanitized.h"

namespace forebay::engine {
namespace {

TEST(EachFile, IsGoneThroughByTheCallerWhereTheSystemGivesNoThread) {
  if (tests::sanitized) GTEST_SKIP() << "a sanitizer ends the process where a thread cannot be started";
  std::vector<int> times(20);
  rlim_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit none{pages * 4096 + (rlim_t{1} << 20), before.rlim_max};  // a thread's stack takes more
  setrlimit(RLIMIT_AS, &none);
  bool all = false;
  EXPECT_NO_THROW(all = each_file(
                      {.files = times.size(), .threads = 16},
                      [&](std::size_t file, const std::stop_token&) { ++times[file]; }, [] { return true; }));
  setrlimit(RLIMIT_AS, &before);
  EXPECT_TRUE(all);
  EXPECT_EQ(times, std::vector<int>(20, 1));
}

TEST(EachFile, WhenTheCallerThrowsFilesThatAreBegunAreLeftAndNoOtherIsBegun) {
  std::atomic<int> begun{0};
  std::atomic<bool> left{false};
  const auto work = [&](std::size_t, const std::stop_token& stop) {
    if (++begun > 1) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    left = stop.stop_requested();
  };
  int asked = 0;
  const auto go_on = [&] {
    if (++asked == 2) throw std::runtime_error("enough");
    return true;
  };
  EXPECT_THROW(
      static_cast<void>(each_file({.files = 100, .threads = 1, .period = std::chrono::milliseconds{1}}, work, go_on)),
      std::runtime_error);
  EXPECT_EQ(begun, 1);
  EXPECT_TRUE(left);
}

/// TFRecord that notes who scans, and takes a while.
class WatchedFormat final : public Format {
 public:
  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    const std::lock_guard lock{mutex};
    threads.insert(std::this_thread::get_id());
    return format_->scan(bytes, offset, last, limit, records);
  }
  Result<void> verify(std::span<const Record> records) const override { return format_->verify(records); }

  mutable std::mutex mutex;
  mutable std::set<std::thread::id> threads;

 private:
  std::shared_ptr<const Format> format_ = formats::tfrecord_format({});
};

TEST(IndexInParallel, TakesNoMoreThreadsThanTheRunHas) {
  const tests::Folder folder;
  Program program;
  const auto format = std::make_shared<WatchedFormat>();
  program.source.format = format;
  program.source.compression = Compression::none;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < 40; ++i) {
    program.source.files.push_back(folder.write(std::to_string(i), tests::framed("record")));
    numbers.push_back(i);
  }
  std::vector<MadeIndex> made(numbers.size());
  const auto pool = std::make_shared<Pool>(std::int64_t{1} << 30);
  ASSERT_TRUE(index_in_parallel(
                  program, numbers, {.pool = pool, .threads = 1}, [] { return true; }, made)
                  .ok());
  EXPECT_EQ(format->threads.size(), 1U);
}

// The second file is known to be damaged long before the first one is, which is much larger.
TEST(IndexInParallel, FailsWithTheErrorOfTheFirstFileWhicheverIsFoundFirst) {
  const tests::Folder folder;
  std::string frames;
  for (int i = 0; i < 300'000; ++i) frames += tests::framed("record");
  Program program;
  program.source.format = formats::tfrecord_format();
  program.source.compression = Compression::none;
  program.source.files = {folder.write("a", frames + "damage"), folder.write("b", "damage")};
  const std::vector<std::uint32_t> numbers{0, 1};
  for (const std::int64_t threads : {1, 2}) {
    std::vector<MadeIndex> made(2);
    const auto pool = std::make_shared<Pool>(std::int64_t{1} << 30);
    const auto done = index_in_parallel(
        program, numbers, {.pool = pool, .threads = threads}, [] { return true; }, made);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().place().file, program.source.files[0]) << done.error().text();
  }
}

TEST(IndexInParallel, ChargesIndexesWhileTheyAreHeldAndNoneThatIsLargerThanTheBudgetIsMade) {
  const tests::Folder folder;
  std::string frames;
  for (int i = 0; i < 300'000; ++i) frames += tests::framed("record");
  Program program;
  program.source.format = formats::tfrecord_format();
  program.source.compression = Compression::none;
  program.source.files = {folder.write("a", frames)};
  const std::vector<std::uint32_t> numbers{0};
  const auto made_with = [&](std::int64_t memory, std::vector<MadeIndex>& made) {
    std::filesystem::remove(program.source.files[0] + ".fbindex");
    const auto pool = std::make_shared<Pool>(memory);
    auto done = index_in_parallel(
        program, numbers, {.pool = pool, .threads = 1}, [] { return true; }, made);
    EXPECT_EQ(pool->used(), made[0].index ? std::ssize(made[0].index->image()) : 0);
    return done;
  };
  std::vector<MadeIndex> made(1);
  ASSERT_TRUE(made_with(std::int64_t{64} << 20, made).ok());
  EXPECT_EQ(made[0].index->records(), 300'000);
  std::vector<MadeIndex> none(1);
  const auto failed = made_with(std::int64_t{1} << 20, none);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().detail(), Detail::resource_exhausted);
  EXPECT_THAT(failed.error().text(), ::testing::HasSubstr("bytes of `memory` and has 1048576: the record index of this "
                                                          "file takes 12 bytes a record; raise `memory`"));
  EXPECT_EQ(failed.error().place().file, program.source.files[0]);
}

}  // namespace
}  // namespace forebay::engine
