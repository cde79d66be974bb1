// SPDX-License-Identifier: Apache-2.0
// How much of a link a run uses that reads files of another machine in order, with a clock of its own: time passes only
// while the run has nothing to do but wait for an answer. So the speed of this machine does not count.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <forebay/forebay.h>

#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

std::string contents(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The CPU time of this process, in seconds.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Files with the same bytes, behind a link: the first byte of an answer comes `latency` after the request, and the
/// link carries `rate` bytes a second, one answer after the other.
class LinkedFiles final : public FileSystem {
 public:
  LinkedFiles(std::string bytes, double rate, double latency)
      : bytes_{std::move(bytes)}, rate_{rate}, latency_{latency}, clock_{[this] { run(); }} {}
  ~LinkedFiles() override { stop(); }
  LinkedFiles(const LinkedFiles&) = delete;
  LinkedFiles& operator=(const LinkedFiles&) = delete;
  void stop() {
    {
      const std::lock_guard lock{mutex_};
      over_ = true;
    }
    if (clock_.joinable()) clock_.join();
  }

  void find(const std::string&, Found found) override {
    enter(0, [this, found = std::move(found)] { found(version()); });
  }
  void read(ReadRequest request, Answer answer) override {
    enter(request.out.size(), [this, request, answer = std::move(answer)] {
      std::memcpy(request.out.data(), bytes_.data() + request.offset, request.out.size());
      answer(request.out.size());
    });
  }
  [[nodiscard]] FileVersion version() const { return {.size = std::ssize(bytes_), .version = 1}; }
  /// Seconds that have passed.
  [[nodiscard]] double now() {
    const std::lock_guard lock{mutex_};
    return now_;
  }

 private:
  void enter(std::size_t bytes, std::function<void()> answer) {
    const std::lock_guard lock{mutex_};
    free_ = std::max(free_, now_ + latency_) + static_cast<double>(bytes) / rate_;
    answers_.emplace(free_, std::move(answer));
  }
  /// Whether no thread has anything to do: none of this process has used its CPU for a while.
  static bool is_idle() {
    for (int i = 0; i < 2; ++i) {
      const double before = cpu_seconds();
      std::this_thread::sleep_for(1ms);
      if (cpu_seconds() - before > 1e-4) return false;
    }
    return true;
  }
  void run() {
    while (true) {
      if (!is_idle()) continue;
      std::function<void()> answer;
      {
        const std::lock_guard lock{mutex_};
        if (over_) return;
        if (answers_.empty()) continue;
        const auto first = answers_.begin();
        now_ = first->first;
        answer = std::move(first->second);
        answers_.erase(first);
      }
      answer();
    }
  }

  const std::string bytes_;
  const double rate_, latency_;
  std::mutex mutex_;
  std::multimap<double, std::function<void()>> answers_;
  double now_ = 0, free_ = 0;
  bool over_ = false;
  std::thread clock_;
};

struct Case {
  double gigabits, milliseconds;
  std::int64_t memory;
  double share;  // of the link
  std::int64_t files = 6;
  std::string before = {};  // steps before the batch
};

class LinkRate : public ::testing::TestWithParam<Case> {};

TEST_P(LinkRate, IsNearlyWhatTheLinkCarries) {
  constexpr std::int64_t record = 100'000;
  constexpr std::int64_t records = 3840;  // of all files
  const Case& given = GetParam();
  const testing::Folder folder;
  const std::vector<std::string> all(static_cast<std::size_t>(records / given.files), std::string(record, 'x'));
  ASSERT_TRUE(write_records(folder.file("one"), all).ok());
  const double rate = given.gigabits * 1e9 / 8;
  static int number = 0;
  const std::string scheme = fmt::format("link{}", number++);
  const auto linked = std::make_shared<LinkedFiles>(contents(folder.file("one")), rate, given.milliseconds / 1000);
  ASSERT_TRUE(add_file_system(scheme, linked).ok());
  std::string names;
  for (int i = 0; i < given.files; ++i) names += fmt::format("{}\"{}://{}\"", i == 0 ? "" : ", ", scheme, i);
  const auto json =
      parse_json(R"({"source": {"tfrecord": {"files": [)" + names + R"(]}}, "decode": {"record": {}}, "steps": [)" +
                 given.before + R"({"batch": {"size": 16}}]})");
  std::vector<double> times;
  {
    auto loader = load(*json, {.threads = 1, .memory = given.memory});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    while (true) {
      const auto batch = loader->next();
      ASSERT_TRUE(batch.ok()) << batch.error().text();
      if (!*batch) break;
      times.push_back(linked->now());
    }
  }
  linked->stop();
  ASSERT_EQ(times.size(), records / 16);
  const std::size_t first = times.size() * 3 / 10;
  const std::size_t last = times.size() * 9 / 10;
  const double bytes = static_cast<double>(last - first) * 16 * (record + 16);
  const double share = bytes / (times[last] - times[first]) / rate;
  fmt::print("{} Gb/s, {} ms, {} MiB, {} files {}: {:.1f} %\n", given.gigabits, given.milliseconds, given.memory >> 20,
             given.files, given.before, 100 * share);
  EXPECT_GT(share, given.share);
}

constexpr std::int64_t mebibyte = 1 << 20;
const std::string side_by_side = R"({"interleave": {"cycle": 4}}, )";

INSTANTIATE_TEST_SUITE_P(Links, LinkRate,
                         ::testing::Values(Case{4, 20, 256 * mebibyte, .95}, Case{8, 20, 256 * mebibyte, .95},
                                           Case{4, 100, 512 * mebibyte, .9}, Case{8, 100, 512 * mebibyte, .9},
                                           Case{4, 100, 512 * mebibyte, .9, 60},
                                           Case{4, 100, 512 * mebibyte, .9, 8, side_by_side},
                                           Case{4, 100, 512 * mebibyte, .9, 60, side_by_side}));

}  // namespace
}  // namespace forebay
