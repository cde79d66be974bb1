// SPDX-License-Identifier: Apache-2.0
// Tests of the store of indexes: which entry is valid, torn and flipped bytes, several writers, killed writers.
#include "engine/index/index_store.h"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "columns/crc32c.h"
#include "io/atomic_file.h"
#include "tests/engine/index/index_fixture.h"

namespace forebay::engine {
namespace {

using ::testing::UnorderedElementsAre;

class Store : public IndexTest {
 protected:
  static constexpr EntryKey key{StoredKind::attribute, 7};

  void append(const std::string& name, const std::string& text, const EntryKey& of = key, std::int64_t size = 1) {
    const NewEntry entry{
        .key = of, .identity = {.size = size}, .payload = std::as_bytes(std::span{text.data(), text.size()})};
    const auto path = IndexStores{}.append(file(name), {&entry, 1});
    ASSERT_TRUE(path.ok()) << path.error().text();
    EXPECT_EQ(*path, store());
  }
  /// The payloads of the entries with intact payloads, the last one first.
  std::vector<std::string> found(const std::string& name, const EntryKey& of = key) {
    std::vector<std::string> out;
    std::string fault;
    IndexStores stores;
    for (const FoundEntry& entry : stores.find(stores.places(file(name))[0], file(name), of, false, fault)) {
      if (columns::crc32c(entry.payload) != entry.crc) continue;
      out.emplace_back(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
    }
    return out;
  }
  std::string file(const std::string& name) { return folder_.write(name, "x"); }
  using Texts = std::vector<std::string>;
};

TEST_F(Store, TheLastEntryOfAKeyIsFirstAndKeysAndFilesAreApart) {
  append("a", "one");
  append("b", "other file");
  append("a", "other key", {StoredKind::attribute, 8});
  append("a", "other kind", {StoredKind::skips, 7});
  append("a", "two");
  EXPECT_EQ(found("a"), (Texts{"two", "one"}));
  EXPECT_EQ(found("b"), (Texts{"other file"}));
  EXPECT_EQ(found("a", {StoredKind::attribute, 8}), (Texts{"other key"}));
  EXPECT_EQ(found("a", {StoredKind::skips, 7}), (Texts{"other kind"}));
  EXPECT_EQ(found("c"), Texts{});
}

TEST_F(Store, AnEntryOfANewVersionOfTheFileEndsAllOfTheOldOne) {
  append("a", "old", key, 1);
  append("a", "old records", {StoredKind::records, 0}, 1);
  append("a", "new", key, 2);
  EXPECT_EQ(found("a"), (Texts{"new"}));
  EXPECT_EQ(found("a", {StoredKind::records, 0}), Texts{});
}

TEST_F(Store, WhatIsAppendedByAnotherObjectIsFound) {
  IndexStores reader;
  std::string fault;
  const auto count = [&] { return reader.find(reader.places(file("a"))[0], file("a"), key, false, fault).size(); };
  EXPECT_EQ(count(), 0U);
  append("b", "before");
  append("a", "one");
  EXPECT_EQ(count(), 1U);
}

TEST_F(Store, CutAnywhereItHasTheEntriesBeforeTheCutAndTakesNewOnes) {
  append("a", "first");
  const std::size_t one = stored().size();
  append("a", "second");
  const std::string whole = stored();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    set_stored(whole.substr(0, size));
    EXPECT_EQ(found("a"), size < one ? Texts{} : Texts{"first"}) << size;
    if (size % 7 > 0) continue;  // replacing a store syncs the disk
    append("a", "third");
    EXPECT_EQ(found("a").front(), "third") << size;
    EXPECT_EQ(found("a").size(), size < one ? 1U : 2U) << size;
  }
}

TEST_F(Store, AFlippedBitAnywhereNeverGivesAnotherPayload) {
  append("a", "first");
  append("a", "second");
  const std::string whole = stored();
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 9) {
    std::string broken = whole;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    set_stored(broken);
    const Texts got = found("a");
    EXPECT_TRUE(got == Texts{"first"} || got == Texts{"second"} || got.empty()) << bit;
    if (bit % 7 > 0) continue;  // replacing a store syncs the disk
    append("a", "third");
    EXPECT_EQ(found("a").front(), "third") << bit;
  }
}

TEST_F(Store, IsReplacedByItsValidEntriesWhenMoreThanHalfIsSuperseded) {
  const std::string large(50'000, 'l');
  append("b", "stays");
  for (int i = 0; i < 10; ++i) append("a", large + std::to_string(i));
  EXPECT_LT(stored().size(), 4 * large.size());
  EXPECT_EQ(found("a").front(), large + "9");
  EXPECT_EQ(found("b"), (Texts{"stays"}));
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("a", "b", ".forebay"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder_.path() + "/.forebay"}, {}), 1);
}

TEST_F(Store, ANewStoreHasNoEntriesOfFilesThatAreGone) {
  append("gone", "one");
  std::filesystem::remove(folder_.path() + "/gone");
  append("a", "two");
  set_stored(stored() + "torn");
  append("a", "three");
  EXPECT_EQ(found("gone"), Texts{});
  EXPECT_EQ(found("a"), (Texts{"three", "two"}));
}

TEST_F(Store, UnfinishedFilesOfKilledWritersAreSwept) {
  append("a", "one");
  const pid_t writer = ::fork();
  if (writer == 0) {
    const auto unfinished = io::AtomicFile::create(store());
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
  const std::filesystem::directory_iterator end;
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator{folder_.path() + "/.forebay"}, end), 2);
  append("a", "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder_.path() + "/.forebay"}, end), 1);
  EXPECT_EQ(found("a").front(), "two");
}

TEST_F(Store, ProcessesThatWriteAtOnceLoseNothing) {
  constexpr int writers = 4;
  constexpr int entries = 40;
  for (int i = 0; i < writers; ++i) file("f" + std::to_string(i));
  const std::string large(3000, 'x');
  for (int i = 0; i < writers; ++i) {
    if (::fork() != 0) continue;
    for (int j = 0; j < entries; ++j) append("f" + std::to_string(i), large + std::to_string(j));
    ::_exit(HasFailure() ? 1 : 0);
  }
  int failures = 0;
  for (int i = 0, status = 0; i < writers; ++i) failures += ::wait(&status) > 0 && status == 0 ? 0 : 1;
  EXPECT_EQ(failures, 0);
  for (int i = 0; i < writers; ++i)
    EXPECT_EQ(found("f" + std::to_string(i)).front(), large + std::to_string(entries - 1));
}

TEST_F(Store, WritersThatAreKilledLeaveEveryEntryThatWasWhole) {
  append("a", "kept");
  const std::string large(200'000, 'k');
  for (int i = 0; i < 20; ++i) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (;;) append("b", large);
    }
    ::usleep(static_cast<useconds_t>(500 + 700 * i));
    ::kill(writer, SIGKILL);
    ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
    EXPECT_EQ(found("a"), (Texts{"kept"}));
  }
  append("b", "last");
  EXPECT_EQ(found("b").front(), "last");
  EXPECT_EQ(found("a"), (Texts{"kept"}));
}

TEST_F(Store, HasTheEntriesOfThousandsOfFiles) {
  constexpr int files = 2000;
  IndexStores writer;
  for (int i = 0; i < files; ++i) {
    const std::string text = std::to_string(i);
    const NewEntry entry{.key = key, .identity = {}, .payload = std::as_bytes(std::span{text.data(), text.size()})};
    ASSERT_TRUE(writer.append(file("f" + text), {&entry, 1}).ok());
  }
  IndexStores reader;
  std::string fault;
  for (int i = 0; i < files; ++i) {
    const std::string path = folder_.path() + "/f" + std::to_string(i);
    const auto entries = reader.find(reader.places(path)[0], path, key, false, fault);
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(entries[0].payload.data()), entries[0].payload.size()),
              std::to_string(i));
  }
}

}  // namespace
}  // namespace forebay::engine
