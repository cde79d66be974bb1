// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/each_file.h"

#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/index/index_parallel.h"
#include "engine/program/program.h"
#include "sources/framing.h"
#include "tests/io/files.h"
#include "tests/sources/frames.h"
#include "tests/support/how_much.h"

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
    if (++asked == 1) return true;
    while (begun == 0) std::this_thread::yield();  // its thread may come late
    throw std::runtime_error("enough");
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
  std::shared_ptr<const Format> format_ = sources::tfrecord_format({});
};

/// A program over files of frames.
class IndexInParallel : public ::testing::Test {
 protected:
  IndexInParallel() {
    program_.source.format = sources::tfrecord_format();
    program_.source.compression = Compression::none;
  }
  [[nodiscard]] static std::string many_frames() {
    std::string frames;
    for (int i = 0; i < 300'000; ++i) frames += tests::framed("record");
    return frames;
  }
  void add(const std::string& content) {
    auto& files = program_.source.files;
    files.push_back(folder_.write(std::to_string(files.size()), content));
  }
  Result<void> run(const std::shared_ptr<BufferPool>& pool, std::int64_t threads) {
    std::vector<std::uint32_t> numbers(program_.source.files.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    made_ = std::vector<MadeIndex>(numbers.size());
    return index_in_parallel(
        program_, numbers, {.pool = pool, .threads = threads}, [] { return true; },
        [this](std::span<const std::uint32_t> files, std::span<MadeIndex> made) {
          for (std::size_t i = 0; i < files.size(); ++i) made_[files[i]] = std::move(made[i]);
          return Result<void>{};
        });
  }

  const tests::Folder folder_;
  Program program_;
  std::vector<MadeIndex> made_;
};

TEST_F(IndexInParallel, TakesNoMoreThreadsThanTheRunHas) {
  const auto format = std::make_shared<WatchedFormat>();
  program_.source.format = format;
  for (int i = 0; i < 40; ++i) add(tests::framed("record"));
  ASSERT_TRUE(run(std::make_shared<BufferPool>(std::int64_t{1} << 30), 1).ok());
  EXPECT_EQ(format->threads.size(), 1U);
}

// The second file is known to be corrupt long before the first one is, which is much larger.
TEST_F(IndexInParallel, FailsWithTheErrorOfTheFirstFileWhicheverIsFoundFirst) {
  add(many_frames() + "corruption");
  add("corruption");
  for (const std::int64_t threads : {1, 2}) {
    const auto done = run(std::make_shared<BufferPool>(std::int64_t{1} << 30), threads);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().place().file, program_.source.files[0]) << done.error().text();
  }
}

TEST_F(IndexInParallel, ChargesIndexesWhileTheyAreHeldAndNoneThatIsLargerThanTheBudgetIsMade) {
  add(many_frames());
  const auto run_with = [&](std::int64_t memory) {
    std::filesystem::remove_all(std::filesystem::path{program_.source.files[0]}.parent_path() / ".forebay");
    const auto pool = std::make_shared<BufferPool>(memory);
    auto done = run(pool, 1);
    EXPECT_EQ(pool->used(), made_[0].index ? std::ssize(made_[0].index->image()) : 0);
    return done;
  };
  ASSERT_TRUE(run_with(std::int64_t{64} << 20).ok());
  EXPECT_EQ(made_[0].index->records(), 300'000);
  const auto failed = run_with(std::int64_t{1} << 20);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().detail(), Detail::resource_exhausted);
  EXPECT_THAT(failed.error().text(), ::testing::HasSubstr("bytes of `memory` and has 1048576: the record index of this "
                                                          "file takes 12 bytes a record; raise `memory`"));
  EXPECT_EQ(failed.error().place().file, program_.source.files[0]);
}

}  // namespace
}  // namespace forebay::engine
