// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/cache/part_table.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/io/files.h"

namespace forebay::engine {
namespace {

using Claim = PartTable::Claim;
using Where = PartTable::Where;

constexpr std::uint64_t run = 5;
constexpr std::int64_t part_bytes = PartFile::min_part;

PartKey key(std::uint64_t part) { return {.file = 1, .version = 2, .part = part}; }

std::vector<std::byte> content(std::uint64_t part, std::size_t bytes = 1000) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((part * 31 + i) % 251);
  return out;
}

class PartTableTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<PartTable> open(std::int64_t slots, PartTable::Clock clock = {}) {
    notice_.clear();
    auto table = PartTable::open(folder_.path(), slots * part_bytes, notice_, std::move(clock));
    EXPECT_TRUE(table.ok()) << table.error().text();
    return *std::move(table);
  }
  [[nodiscard]] std::string file() const { return folder_.path() + "/parts-v1"; }

  /// Reads a part, and keeps it as far as the table wants it. Whether it was there, with its bytes.
  static bool use(PartTable& table, std::uint64_t part, const PartTimes& times) {
    const auto bytes = content(part);
    const auto found = table.look(key(part), times, std::ssize(bytes), Claim::any);
    if (found.where == Where::claimed) {
      EXPECT_TRUE(table.keep(key(part), found, bytes));
    }
    if (found.where != Where::here) return false;
    std::vector<std::byte> out(bytes.size());
    EXPECT_TRUE(table.read(key(part), found, 0, out));
    EXPECT_EQ(out, bytes);
    return true;
  }

  const tests::Folder folder_;
  std::string notice_;
};

/// The most hits that any choice gives.
std::int64_t best_hits(const std::vector<std::uint64_t>& parts, std::size_t slots) {
  std::set<std::uint64_t> kept;
  std::int64_t hits = 0;
  const auto next = [&](std::uint64_t part, std::size_t at) {
    return std::find(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1, parts.end(), part) - parts.begin();
  };
  for (std::size_t at = 0; at < parts.size(); ++at) {
    hits += kept.contains(parts[at]) ? 1 : 0;
    kept.insert(parts[at]);
    if (kept.size() > slots)
      kept.erase(*std::ranges::max_element(kept, {}, [&](std::uint64_t part) { return next(part, at); }));
  }
  return hits;
}

std::int64_t hits_by_age(const std::vector<std::uint64_t>& parts, std::size_t slots) {
  std::list<std::uint64_t> kept;
  std::int64_t hits = 0;
  for (const std::uint64_t part : parts) {
    hits += std::erase(kept, part) > 0 ? 1 : 0;
    kept.push_back(part);
    if (kept.size() > slots) kept.pop_front();
  }
  return hits;
}

TEST_F(PartTableTest, OneReaderHasTheMostHitsThatArePossible) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 10'000; ++round) {
    const std::size_t slots = 1 + random() % 8;
    const std::uint64_t files = 1 + random() % 14;
    std::vector<std::uint64_t> parts(1 + random() % 40);
    std::ranges::generate(parts, [&] { return random() % files; });
    if (round % 3 == 0)  // passes
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = i % files;
    std::filesystem::remove(file());
    const auto table = open(static_cast<std::int64_t>(slots));
    std::int64_t hits = 0;
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const auto next = std::find(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1, parts.end(), parts[at]);
      PartTimes times{.now = at, .run = run};
      if (next != parts.end()) times.next = static_cast<std::uint64_t>(next - parts.begin());
      hits += use(*table, parts[at], times) ? 1 : 0;
    }
    ASSERT_EQ(hits, best_hits(parts, slots)) << "round " << round << ", " << slots << " slots";
  }
}

/// The order in which `ranks` processes read all parts in each pass, a few parts apart from each other.
struct Reads {
  std::vector<std::size_t> rank;
  std::vector<std::uint64_t> part;
  std::vector<PartTimes> times;
};
Reads reads_of(std::size_t ranks, std::uint64_t parts, std::size_t passes, bool shuffled, std::mt19937_64& random) {
  std::vector<std::vector<std::uint64_t>> order(passes + 1, std::vector<std::uint64_t>(parts));
  for (auto& pass : order) {
    for (std::uint64_t i = 0; i < parts; ++i) pass[i] = i;
    if (shuffled) std::ranges::shuffle(pass, random);
  }
  Reads out;
  std::vector<std::size_t> done(ranks);
  while (std::ranges::any_of(done, [&](std::size_t at) { return at < passes * parts; })) {
    const std::size_t rank = random() % ranks;
    const std::size_t at = done[rank];
    if (at == passes * parts || at > *std::ranges::min_element(done) + 1) continue;
    ++done[rank];
    const std::size_t pass = at / parts;
    const std::uint64_t part = order[pass][at % parts];
    const auto place = static_cast<std::uint64_t>(std::ranges::find(order[pass + 1], part) - order[pass + 1].begin());
    const auto time = [&](std::size_t of, std::uint64_t in) {
      return static_cast<std::uint64_t>(of) * PartTimes::pass + in * (PartTimes::pass / parts);
    };
    out.rank.push_back(rank);
    out.part.push_back(part);
    out.times.push_back(
        {.now = time(pass, at % parts), .next = time(pass + 1, place), .shared = ranks > 1, .run = run});
  }
  return out;
}

TEST_F(PartTableTest, RanksHaveAtLeastAsManyHitsAsByAge) {
  std::mt19937_64 random{2};
  std::int64_t all = 0, by_age = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t ranks = 2 + random() % 4;
    const std::size_t slots = 4 + random() % 12;
    const Reads reads = reads_of(ranks, 3 + random() % 30, 4, round % 2 == 0, random);
    std::filesystem::remove(file());
    std::int64_t now = 1'800'000'000'000;
    std::vector<std::unique_ptr<PartTable>> tables;
    for (std::size_t i = 0; i < ranks; ++i) {
      tables.push_back(open(static_cast<std::int64_t>(slots), [&now] { return now; }));
      static_cast<void>(tables.back()->look(key(UINT64_MAX), {.run = run}, 1, Claim::never));  // it is there
    }
    std::int64_t hits = 0;
    for (std::size_t at = 0; at < reads.part.size(); ++at, ++now)
      hits += use(*tables[reads.rank[at]], reads.part[at], reads.times[at]) ? 1 : 0;
    ASSERT_GE(hits, hits_by_age(reads.part, slots)) << "round " << round << ", " << ranks << " ranks, " << slots;
    all += hits;
    by_age += hits_by_age(reads.part, slots);
  }
  EXPECT_GT(all, by_age + by_age / 20);
}

TEST_F(PartTableTest, APartIsReadInPieces) {
  const auto table = open(4);
  const auto bytes = content(3, part_bytes - 5);
  const auto claimed = table->look(key(3), {.run = run}, std::ssize(bytes), Claim::free);
  ASSERT_EQ(claimed.where, Where::claimed);
  EXPECT_EQ(table->look(key(3), {.run = run}, std::ssize(bytes), Claim::free).where, Where::coming);
  ASSERT_TRUE(table->keep(key(3), claimed, bytes));
  const auto found = table->look(key(3), {.run = run}, std::ssize(bytes), Claim::never);
  ASSERT_EQ(found.where, Where::here);
  for (const std::int64_t from : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4096}, std::int64_t{9000}}) {
    std::vector<std::byte> out(20'000);
    ASSERT_TRUE(table->read(key(3), found, from, out));
    EXPECT_TRUE(std::ranges::equal(out, std::span{bytes}.subspan(static_cast<std::size_t>(from), out.size())));
  }
  EXPECT_EQ(table->look(key(3), {.run = run}, 17, Claim::never).where, Where::nowhere) << "another size";
}

TEST_F(PartTableTest, ItIsThereAfterItWasClosedAndForAnother) {
  {
    const auto table = open(4);
    const auto other = open(9);
    EXPECT_EQ(other->bytes(), 4 * part_bytes);
    EXPECT_NE(notice_.find("keeps its 262144 bytes"), std::string::npos) << notice_;
    EXPECT_FALSE(use(*table, 1, {.run = run}));
    EXPECT_TRUE(use(*other, 1, {.run = run}));
  }
  EXPECT_TRUE(use(*open(4), 1, {.run = run}));
  EXPECT_EQ(notice_, "");
  EXPECT_FALSE(use(*open(5), 1, {.run = run}));
  EXPECT_NE(notice_.find("is emptied: it had 262144 bytes"), std::string::npos) << notice_;
}

TEST_F(PartTableTest, NoCorruptByteIsGiven) {
  std::mt19937_64 random{3};
  for (int round = 0; round < 300; ++round) {
    {
      const auto table = open(6);
      for (std::uint64_t part = 0; part < 6; ++part) static_cast<void>(use(*table, part, {.run = run}));
    }
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file()));
    const int descriptor = ::open(file().c_str(), O_RDWR);
    for (int i = 0; i < 20; ++i) {
      const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(round % 2 == 0 ? 8192 : size));
      const std::uint64_t value = random();
      const std::size_t bytes = 1 + random() % 8;
      ASSERT_EQ(pwrite(descriptor, &value, bytes, at), static_cast<ssize_t>(bytes));
    }
    close(descriptor);
    auto table = PartTable::open(folder_.path(), 6 * part_bytes, notice_);
    if (!table.ok()) {
      std::filesystem::remove(file());
      continue;
    }
    for (std::uint64_t part = 0; part < 9; ++part) {
      const auto bytes = content(part);
      const auto found = (*table)->look(key(part), {.run = run}, std::ssize(bytes), Claim::any);
      std::vector<std::byte> out(bytes.size());
      if (found.where == Where::here && (*table)->read(key(part), found, 0, out)) {
        ASSERT_EQ(out, bytes);
      }
      if (found.where == Where::claimed) static_cast<void>((*table)->keep(key(part), found, bytes));
    }
  }
}

TEST_F(PartTableTest, ASlotThatNobodyWritesIsFreeAfterTenSeconds) {
  std::int64_t now = 1'800'000'000'000;
  const auto table = open(1, [&] { return now; });
  const auto lost = table->look(key(0), {.run = run}, 1000, Claim::any);
  ASSERT_EQ(lost.where, Where::claimed);
  EXPECT_FALSE(use(*table, 1, {.next = 1, .run = run}));
  EXPECT_FALSE(use(*table, 1, {.next = 1, .run = run})) << "the only slot is taken";
  now += 10'001;
  EXPECT_FALSE(use(*table, 1, {.next = 1, .run = run}));
  EXPECT_TRUE(use(*table, 1, {.next = 1, .run = run}));
  EXPECT_TRUE(table->keep(key(0), lost, content(0)));  // it comes too late, and writes nothing
  EXPECT_TRUE(use(*table, 1, {.next = 1, .run = run}));
}

TEST_F(PartTableTest, PartsOfAnotherRunGiveWayWhenItIsGone) {
  std::int64_t now = 1'800'000'000'000;
  const auto table = open(2, [&] { return now; });
  for (const std::uint64_t part : {0U, 1U}) EXPECT_FALSE(use(*table, part, {.next = 100, .run = run}));
  EXPECT_FALSE(use(*table, 2, {.next = 1, .run = run + 1}));
  EXPECT_FALSE(use(*table, 2, {.next = 1, .run = run + 1})) << "the other run is there";
  EXPECT_TRUE(use(*table, 0, {.next = 100, .run = run}));
  now += 600'001;
  EXPECT_FALSE(use(*table, 2, {.next = 1, .run = run + 1}));
  EXPECT_TRUE(use(*table, 2, {.next = 1, .run = run + 1}));
}

TEST_F(PartTableTest, AKilledProcessLeavesATableThatWorks) {
  for (int round = 0; round < 60; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      std::string notice;
      const auto table = PartTable::open(folder_.path(), 5 * part_bytes, notice);
      std::mt19937_64 random{static_cast<std::uint64_t>(round)};
      for (std::uint64_t at = 0;; ++at)
        static_cast<void>(use(**table, random() % 12, {.now = at, .next = at + random() % 9, .run = run}));
    }
    std::this_thread::sleep_for(std::chrono::microseconds{2000 + round * 50});
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    std::int64_t now = 4'000'000'000'000;  // claims are given up
    const auto table = open(5, [&] { return now; });
    for (std::uint64_t at = 0; at < 40; ++at)
      static_cast<void>(use(*table, at % 5, {.now = at, .next = at + 5, .run = run}));
    for (std::uint64_t part = 0; part < 5; ++part)
      EXPECT_TRUE(use(*table, part, {.now = 40, .next = 45, .run = run})) << "round " << round << ", part " << part;
  }
}

TEST_F(PartTableTest, ThreadsAndTablesAtOnceGiveNoOtherBytes) {
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([this, number] {
      std::string notice;
      const auto table = PartTable::open(folder_.path(), 3 * part_bytes, notice);
      std::mt19937_64 random{number};
      for (std::uint64_t at = 0; at < 2000; ++at) {
        const std::uint64_t part = random() % 8;
        const auto bytes = content(part, 3000);
        const auto found =
            (*table)->look(key(part), {.now = at, .next = at + random() % 9, .run = run}, 3000, Claim::any);
        std::vector<std::byte> out(2000);
        if (found.where == Where::claimed) static_cast<void>((*table)->keep(key(part), found, bytes));
        if (found.where == Where::here && (*table)->read(key(part), found, 500, out)) {
          EXPECT_TRUE(std::ranges::equal(out, std::span{bytes}.subspan(500, 2000)));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PartTableTest, WhatIsNoCacheStaysAsItIs) {
  const auto refused = [&](std::string_view why) {
    const auto table = PartTable::open(folder_.path(), 4 * part_bytes, notice_);
    ASSERT_FALSE(table.ok());
    EXPECT_NE(table.error().text().find(why), std::string::npos) << table.error().text();
  };
  folder_.write("parts-v1", "a poem");
  refused("is not a cache of Forebay; remove it, or name another folder");
  EXPECT_EQ(std::filesystem::file_size(file()), 6U);
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  refused("parts-v1");
  std::filesystem::remove(file());
  folder_.write("other", "a poem");
  std::filesystem::create_symlink(folder_.path() + "/other", file());
  refused("cannot open");
  EXPECT_EQ(std::filesystem::file_size(folder_.path() + "/other"), 6U);
}

TEST_F(PartTableTest, AFileThatWasCutTurnsItOff) {
  const auto table = open(4);
  EXPECT_FALSE(use(*table, 1, {.run = run}));
  std::filesystem::resize_file(file(), 4100);
  EXPECT_EQ(table->look(key(2), {.run = run}, 1000, Claim::any).where, Where::nowhere);
  EXPECT_EQ(table->fault(), "its file was cut, or cannot be read");
}

}  // namespace
}  // namespace forebay::engine
