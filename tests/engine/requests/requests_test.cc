// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/requests.h"

#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "engine/memory/catch_all.h"
#include "engine/requests/range_sets.h"
#include "engine/requests/requested_file.h"

namespace forebay::engine {
namespace {

/// Holds every request until the test answers it. Byte i of a file is i mod 251.
class HeldFiles final : public FileSystem {
 public:
  void find(const std::string&, Found found) override {
    found(FileVersion{.size = version_.size, .version = version_.version});
  }
  void read(ReadRequest request, Answer answer) override {
    if (at_once_) return answer(fill(request, max_bytes_));
    const std::lock_guard lock{mutex_};
    held_.push_back({std::move(request), std::move(answer)});
  }

  [[nodiscard]] std::vector<io::ByteRange> held() {
    const std::lock_guard lock{mutex_};
    std::vector<io::ByteRange> out;
    for (const auto& [request, answer] : held_)
      out.push_back({.offset = request.offset, .bytes = std::ssize(request.out)});
    return out;
  }
  /// Answers the request that came first with at most so many bytes.
  void answer(std::size_t max_bytes = SIZE_MAX) {
    auto [request, answer] = take();
    answer(fill(request, max_bytes));
  }
  /// Whether the bytes of the request that came first are.
  [[nodiscard]] bool wanted() {
    const std::lock_guard lock{mutex_};
    return !held_.front().first.wanted.expired();
  }
  void fail(const Error& error) {
    auto [request, answer] = take();
    answer(error);
  }

  bool at_once_ = false;
  std::size_t max_bytes_ = SIZE_MAX;  ///< With `at_once_`.
  io::RandomAccessFile::Identity version_{.size = 10'000'000, .version = 7};

 private:
  using Held = std::pair<ReadRequest, Answer>;
  Held take() {
    const std::lock_guard lock{mutex_};
    Held first = std::move(held_.front());
    held_.erase(held_.begin());
    return first;
  }
  static Result<std::size_t> fill(const ReadRequest& request, std::size_t max_bytes) {
    const std::size_t count = std::min(max_bytes, request.out.size());
    for (std::size_t i = 0; i < count; ++i)
      request.out[i] = static_cast<std::byte>((request.offset + static_cast<std::int64_t>(i)) % 251);
    return count;
  }
  std::mutex mutex_;
  std::vector<Held> held_;
};

class RequestsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<Requests> requests(std::int64_t max, std::function<void()> wake = {}) const {
    return std::make_shared<Requests>(pool_, max, std::move(wake));
  }
  [[nodiscard]] std::shared_ptr<const RequestTarget> target() {
    return std::make_shared<const RequestTarget>(
        RequestTarget{.system = &files_, .path = "held://a", .version = files_.version_});
  }
  /// Whether these are the bytes of a file from `offset` on.
  static bool right(std::span<const std::byte> bytes, std::int64_t offset) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != static_cast<std::byte>((offset + static_cast<std::int64_t>(i)) % 251)) return false;
    }
    return true;
  }

  HeldFiles files_;
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 30);
};

TEST_F(RequestsTest, NoMoreThanTheMaximumIsInFlightAndAnAnswerBeginsTheNext) {
  int wakes = 0;
  const auto all = requests(2, [&] { ++wakes; });
  std::vector<std::shared_ptr<Request>> asked;
  for (const std::int64_t offset : {0, 100, 200, 300})
    asked.push_back(all->ask(target(), {.offset = offset, .bytes = 100}));
  const auto urgent = all->ask(target(), {.offset = 900, .bytes = 5}, true);
  EXPECT_EQ(files_.held().size(), 2U);
  files_.answer();
  EXPECT_TRUE(asked[0]->ready());
  EXPECT_TRUE(right(asked[0]->bytes(), 0));
  EXPECT_EQ(wakes, 1);
  ASSERT_EQ(files_.held().size(), 2U);
  EXPECT_EQ(files_.held()[1].offset, 900);
  asked[2].reset();  // nobody needs it any more
  files_.answer();
  EXPECT_EQ(files_.held()[1].offset, 300);
}

TEST_F(RequestsTest, MissingBytesAreAskedForAgainAndAnEmptyAnswerIsAnError) {
  const auto all = requests(1);
  const auto asked = all->ask(target(), {.offset = 50, .bytes = 100});
  files_.answer(30);
  EXPECT_FALSE(asked->ready());
  ASSERT_EQ(files_.held().size(), 1U);
  EXPECT_EQ(files_.held()[0].offset, 80);
  EXPECT_EQ(files_.held()[0].bytes, 70);
  files_.answer(69);
  files_.answer();
  EXPECT_TRUE(asked->ready());
  EXPECT_FALSE(asked->error());
  EXPECT_EQ(asked->bytes().size(), 100U);
  EXPECT_TRUE(right(asked->bytes(), 50));
  const auto cut = all->ask(target(), {.offset = 0, .bytes = 10});
  files_.answer(4);
  files_.answer(0);
  ASSERT_TRUE(cut->ready() && cut->error());
  EXPECT_NE(cut->error()->text().find("changed while it was read"), std::string::npos);
  EXPECT_TRUE(right(cut->bytes(), 0) && cut->bytes().size() == 4);
}

TEST_F(RequestsTest, AnswersBeforeReadReturnsAreNotNested) {
  files_.at_once_ = true;
  files_.max_bytes_ = 1;
  const auto all = requests(1);
  const auto asked = all->ask(target(), {.offset = 3, .bytes = 200'000});  // a nested call each would use up the stack
  EXPECT_TRUE(asked->ready());
  EXPECT_TRUE(right(asked->bytes(), 3));
}

TEST_F(RequestsTest, AfterStopNothingBeginsNorWakesAndWaitsEnd) {
  int wakes = 0;
  const auto all = requests(1, [&] { ++wakes; });
  const auto first = all->ask(target(), {.offset = 0, .bytes = 10});
  const auto second = all->ask(target(), {.offset = 10, .bytes = 10});
  all->stop();
  EXPECT_THROW(all->wait(*first), Closed);
  files_.answer();
  EXPECT_TRUE(first->ready());
  EXPECT_EQ(wakes, 0);
  EXPECT_TRUE(files_.held().empty());
  EXPECT_FALSE(second->ready());
}

TEST_F(RequestsTest, AWaitEndsWhenThePoolIsClosedOrTheCallerAsksForIt) {
  const auto asked_to_end = requests(1);
  int questions = 0;
  asked_to_end->ask_whether([&] { return ++questions < 3; });
  const auto first = asked_to_end->ask(target(), {.offset = 0, .bytes = 10});
  EXPECT_THROW(asked_to_end->wait(*first), Closed);
  EXPECT_EQ(questions, 3);
  const auto closed = requests(1);
  const auto second = closed->ask(target(), {.offset = 0, .bytes = 10});
  pool_->close();
  EXPECT_THROW(closed->wait(*second), Closed);
}

TEST_F(RequestsTest, TheWindowIsSharedByTheFilesThatAreReadNow) {
  // A window of 12 MiB, in ranges of 2 MiB.
  const auto all = std::make_shared<Requests>(std::make_shared<BufferPool>(std::int64_t{48} << 20), 6);
  RequestedFile now{all, target()};
  RequestedFile later{all, target()};
  const auto count = [&] { return files_.held().size(); };
  later.go_to(0);
  now.need();
  now.go_to(0);
  EXPECT_EQ(count(), 6U) << "no more than the maximum";
  files_.at_once_ = true;
  while (count() > 0) files_.answer();
  EXPECT_TRUE(now.ready((8 << 20) - 1));
  EXPECT_FALSE(now.ready(8 << 20));
  EXPECT_TRUE(later.ready((4 << 20) - 1));
  EXPECT_FALSE(later.ready(4 << 20));
  EXPECT_FALSE(now.may_ask());
  now.advance(3 << 20);
  EXPECT_TRUE(now.ready(10'000'000 - 1));
  EXPECT_TRUE(now.ready(10'000'000)) << "the end of the file";
}

TEST_F(RequestsTest, FilesThatAreOpenedAheadAskInTheirOrderAndGetWhatIsLeft) {
  // A window of 24 MiB, in ranges of 2 MiB; files of 10 MB.
  files_.at_once_ = true;
  const auto all = std::make_shared<Requests>(std::make_shared<BufferPool>(std::int64_t{96} << 20), 12);
  RequestedFile now{all, target()};
  RequestedFile next{all, target()};
  RequestedFile last{all, target()};
  next.go_to(0);
  last.go_to(0);
  EXPECT_TRUE(next.ready((8 << 20) - 1));
  EXPECT_FALSE(next.ready(8 << 20)) << "a third";
  EXPECT_FALSE(last.ready(0)) << "the one before it has not asked for all";
  EXPECT_FALSE(last.may_ask());
  now.need();
  now.go_to(0);
  EXPECT_TRUE(now.ready(9'999'999));
  EXPECT_TRUE(next.may_ask()) << "of the file that is read now, no more is left to ask for";
  next.advance(0);
  EXPECT_TRUE(next.ready(9'999'999));
  EXPECT_TRUE(last.may_ask());
  last.advance(0);
  EXPECT_TRUE(last.ready((4 << 20) - 1));
  EXPECT_FALSE(last.ready(4 << 20)) << "24 MiB in all";
}

TEST_F(RequestsTest, AFirstAnswerHasTheVersionAndBytes) {
  const auto all = requests(2);
  const auto whole = all->find(files_, "held://a", 100);
  files_.answer(60);
  ASSERT_TRUE(whole->ready() && !whole->error());
  EXPECT_EQ(whole->version().size, 10'000'000);
  EXPECT_EQ(whole->bytes().size(), 60U);
  EXPECT_TRUE(right(whole->bytes(), 0));
  EXPECT_EQ(all->counts().finds, 1);
  files_.version_.size = 0;
  const auto empty = all->find(files_, "held://a", 100);
  EXPECT_TRUE(empty->ready() && !empty->error() && empty->bytes().empty());
  files_.version_.size = 50;
  const auto small = all->find(files_, "held://a", 100);
  files_.answer();
  EXPECT_EQ(small->bytes().size(), 50U);
  const auto none = all->find(files_, "held://a", 100);
  files_.answer(0);
  EXPECT_TRUE(none->ready() && none->error());
}

TEST_F(RequestsTest, AfterAStopTheBytesOfRequestsInFlightAreNotWanted) {
  const auto all = requests(2);
  const auto asked = all->ask(target(), {.offset = 0, .bytes = 10});
  EXPECT_TRUE(files_.wanted());
  all->stop();
  EXPECT_FALSE(files_.wanted());
  files_.fail(Error{Code::cancelled, "nobody wants it"});
}

TEST_F(RequestsTest, RangesGrowWithTheBudget) {
  const auto range_of = [&](std::int64_t limit) {
    const auto all = std::make_shared<Requests>(std::make_shared<BufferPool>(limit));
    RequestedFile file{all, target()};
    file.need();
    file.go_to(0);
    const std::int64_t bytes = files_.held().front().bytes;
    while (!files_.held().empty()) files_.answer();
    return bytes;
  };
  EXPECT_EQ(range_of(std::int64_t{1} << 20), 87'381);  // half of what one file has of a window of 256 KiB
  EXPECT_EQ(range_of(std::int64_t{32} << 20), 256 << 10);
  EXPECT_EQ(range_of(std::int64_t{512} << 20), 4 << 20);
  EXPECT_EQ(range_of(std::int64_t{2} << 30), 8 << 20);
  EXPECT_EQ(range_of(std::int64_t{64} << 30), 8 << 20);
  EXPECT_EQ(range_of(std::numeric_limits<std::int64_t>::max()), 4 << 20);  // a tool
}

TEST_F(RequestsTest, AFileIsReadAcrossRangesAndAFaultComesAfterTheBytesBeforeIt) {
  const auto all = requests(8);
  RequestedFile file{all, target()};
  file.want({.offset = 0, .bytes = 100});
  file.want({.offset = 100, .bytes = 100});
  files_.answer();
  files_.fail(Error{Code::io, "gone"});
  std::vector<std::byte> out(150);
  const auto some = file.read_some(out, 20);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(*some, 80U);
  EXPECT_TRUE(right(std::span{out}.first(80), 20));
  const auto fault = file.read_some(out, 100);
  ASSERT_FALSE(fault.ok());
  EXPECT_EQ(fault.error().text(), "held://a, byte 100: gone");
}

TEST_F(RequestsTest, NearRangesOfASetBecomeOneRequest) {
  const auto all = requests(8);
  RangeSets sets{all};
  const auto piece = [&](std::int64_t offset, std::int64_t bytes) {
    return RangeSets::Piece{.file = 3, .target = target(), .range = {.offset = offset, .bytes = bytes}};
  };
  const RangeSets::Key key{.hash = 7, .count = 2};
  sets.add(key, {piece(500'000, 10), piece(0, 100), piece(60'000, 100), piece(50, 20)});
  const auto held = files_.held();
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held[0].offset, 0);
  EXPECT_EQ(held[0].bytes, 60'100);
  EXPECT_EQ(held[1].offset, 500'000);
  RangeSets::Set* const set = sets.find(key);
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(sets.find({.hash = 7, .count = 1}), nullptr);
  EXPECT_EQ(sets.find({.hash = 8, .count = 2}), nullptr);
  EXPECT_FALSE(set->all_ready());
  files_.answer();
  files_.answer();
  EXPECT_TRUE(set->all_ready());
  EXPECT_NE(set->file(3), nullptr);
  EXPECT_EQ(set->file(4), nullptr);
  sets.drop_to(*set);
  EXPECT_EQ(sets.find(key), nullptr);
}

}  // namespace
}  // namespace forebay::engine
