// SPDX-License-Identifier: Apache-2.0
// Tests of stored indexes: their paths, their validity, and failed writes.
#include "engine/index/index_file.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "columns/crc32c.h"
#include "engine/read/index_layout.h"
#include "tests/engine/index/index_fixture.h"

namespace forebay::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Records = std::vector<std::string>;

class IndexFile : public IndexTest {
 protected:
  static IndexOutcome opened(const std::string& path, Compression compression = Compression::automatic) {
    auto out = load_or_build(request_for(path, compression));
    EXPECT_TRUE(out.ok()) << out.error().text();
    return out.ok() ? *std::move(out) : IndexOutcome{};
  }
  static StoredIndex found(const std::string& path) { return *load_index(request_for(path)); }
  void replace_entry(const std::string& path, const RecordIndex& of, const std::vector<std::byte>& image) const {
    std::filesystem::remove(store());
    const NewEntry entry{.key = {}, .identity = of.identity(), .payload = image};
    ASSERT_TRUE(IndexStores{}.append(path, {&entry, 1}).ok());
  }
  /// Opening finds something that is not good, for that reason, and makes a right one.
  static void expect_rebuilt(const std::string& path, const Records& records, IndexState state,
                             const std::string& why) {
    const IndexOutcome out = opened(path);
    ASSERT_NE(out.index, nullptr);
    EXPECT_EQ(out.found.state, state);
    EXPECT_THAT(out.found.reason, HasSubstr(why));
    EXPECT_TRUE(out.built);
    EXPECT_EQ(layout_of(*out.index), layout_of(records));
    EXPECT_EQ(found(path).state, IndexState::good);
  }
};

TEST_F(IndexFile, IsMadeOnceAndThenRead) {
  const Records records = some_records(500);
  const std::string path = write("data", records, Compression::gzip);
  const IndexOutcome first = opened(path);
  EXPECT_EQ(first.found.state, IndexState::absent);
  EXPECT_TRUE(first.built);
  EXPECT_EQ(first.path, store());
  const IndexOutcome second = opened(path);
  EXPECT_EQ(second.found.state, IndexState::good);
  EXPECT_FALSE(second.built);
  EXPECT_EQ(layout_of(*second.index), layout_of(records));
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("data", ".forebay"));
}

TEST_F(IndexFile, IsStaleWhenTheFileHasGrownOrShrunk) {
  Records records{"one", "two"};
  const std::string path = write("data", records);
  opened(path);
  write("data", {"one", "two", "three"});
  expect_rebuilt(path, {"one", "two", "three"}, IndexState::stale, "its size was 38 bytes, now 59");
  std::filesystem::resize_file(path, 19);
  expect_rebuilt(path, {"one"}, IndexState::stale, "its size");
}

TEST_F(IndexFile, IsStaleWhenTheModificationTimeDiffers) {
  const std::string path = write("data", {"one"});
  opened(path);
  const struct timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  expect_rebuilt(path, {"one"}, IndexState::stale, "its modification time changed");
}

/// Rewrites the file with other records, the modification time put back.
void rewrite_unseen(const std::string& path, const Records& records) {
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  ASSERT_TRUE(write_records(path, records).ok());
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST_F(IndexFile, IsStaleWhenOnlyTheContentOfAnEndDiffers) {
  const std::string middle(10'000, 'm');
  const std::string path = write("data", {"ab", "cde", middle, "fg"});
  opened(path);
  rewrite_unseen(path, {"abc", "de", middle, "fg"});
  expect_rebuilt(path, {"abc", "de", middle, "fg"}, IndexState::stale, "its first 4 KiB changed");
  rewrite_unseen(path, {"abc", "de", middle, "xy"});
  expect_rebuilt(path, {"abc", "de", middle, "xy"}, IndexState::stale, "its last 4 KiB changed");
}

TEST_F(IndexFile, IsStaleForAnotherFormatOrCompression) {
  const std::string path = write("data", {"one"});
  opened(path);
  IndexRequest request = request_for(path);
  request.signature = sources::tfrecord_signature({.max_record_bytes = 1000});
  EXPECT_EQ(load_index(request)->state, IndexState::stale);
  EXPECT_THAT(load_index(request)->reason, HasSubstr("max_record_bytes=1000"));
  EXPECT_EQ(load_index(request_for(path, Compression::gzip))->state, IndexState::stale);
}

TEST_F(IndexFile, OfAnotherFileIsRefused) {
  const std::string one = write("one", {"a", "bc"});
  const std::string other = write("other", {"ab", "c"});
  opened(one);
  // The entry of the one file, under the name of the other one.
  const auto image = opened(one).index;
  const NewEntry entry{.key = {}, .identity = image->identity(), .payload = image->image()};
  ASSERT_TRUE(IndexStores{}.append(other, {&entry, 1}).ok());
  expect_rebuilt(other, {"ab", "c"}, IndexState::stale, "the file has changed");
}

/// The index of a file with another extent for its last record, and a right checksum.
std::vector<std::byte> with_last_record(const RecordIndex& index, std::int64_t offset, std::uint32_t length) {
  std::vector<std::byte> image{index.image().begin(), index.image().end()};
  const auto records = static_cast<std::size_t>(index.records());
  std::byte* const offsets = image.data() + records_begin(index.signature().size());
  std::memcpy(offsets + 8 * (records - 1), &offset, sizeof(offset));
  std::memcpy(offsets + 8 * records + 4 * (records - 1), &length, sizeof(length));
  std::byte* const end = image.data() + image.size() - index_checksum_bytes;
  const std::uint32_t sum = columns::crc32c({image.data(), end});
  std::memcpy(end, &sum, sizeof(sum));
  return image;
}

TEST_F(IndexFile, RecordsPastTheEndAreRebuilt) {
  const Records records{"one", "three", "seven"};
  const std::string path = write("data", records);
  const auto good = opened(path).index;
  for (const std::int64_t end = good->bytes();
       const auto& [offset, length] : std::vector<std::pair<std::int64_t, std::uint32_t>>{
           {end - 4, 5}, {end, 1}, {end + 1, 0}, {INT64_MAX, 1}, {-8, 1}, {good->offset(1), 5}, {0, UINT32_MAX}}) {
    replace_entry(path, *good, with_last_record(*good, offset, length));
    expect_rebuilt(path, records, IndexState::corrupt, "record 2 does not begin after the one before");
  }
}

TEST_F(IndexFile, ARecordThatOverlapsAnotherOneIsNotIntact) {
  const std::string path = write("data", {"one, with the bytes of several", "three", "seven"});
  const auto good = opened(path).index;
  const std::string content = tests::read_text(path) + std::string(record_slack, '\0');
  const auto verified = [&](const RecordIndex& index) {
    const Record last{reinterpret_cast<const std::byte*>(content.data()) + index.offset(2), index.length(2)};
    return sources::tfrecord_format()->verify({&last, 1}).ok();
  };
  EXPECT_TRUE(verified(*good));
  for (std::int64_t offset = good->offset(1) + 1; offset < good->offset(2); ++offset)
    for (const std::uint32_t length : {0U, 1U, 5U}) {
      replace_entry(path, *good, with_last_record(*good, offset, length));
      ASSERT_EQ(found(path).state, IndexState::good) << "records of a valid index may overlap";
      EXPECT_FALSE(verified(*found(path).index)) << offset << " " << length;
    }
}

TEST_F(IndexFile, EveryFlippedBitAndEveryCutIsRebuilt) {
  const Records records{"a", "", "bcd"};
  const std::string path = write("data", records);
  opened(path);
  const std::string good = stored();
  int corrupt = 0;
  const auto expect_refused = [&](const std::string& bytes) {
    set_stored(bytes);
    const StoredIndex out = found(path);  // a store ends before a head that is not intact
    EXPECT_TRUE(out.state == IndexState::corrupt || out.state == IndexState::absent);
    EXPECT_EQ(out.index, nullptr);
    corrupt += out.state == IndexState::corrupt ? 1 : 0;
  };
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string broken = good;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    expect_refused(broken);
  }
  EXPECT_EQ(corrupt, 8 * (std::ssize(good) - 72 - 8)) << "all bits of the index, none of the head and the name";
  for (std::size_t size = 0; size < good.size(); ++size) expect_refused(good.substr(0, size));
  expect_rebuilt(path, records, IndexState::absent, "");
  EXPECT_EQ(stored(), good) << "what was torn is gone";
}

TEST_F(IndexFile, OfANewerProgramIsNotReadAndNotReplaced) {
  const std::string path = write("data", {"one"});
  opened(path);
  std::string bytes = stored();
  constexpr std::size_t image = 72 + 8;  // after the head and the name
  bytes[image + 8] = 3;
  bytes[image + 12] = static_cast<char>(~3);
  set_stored(bytes);
  const IndexOutcome out = opened(path);
  EXPECT_EQ(out.found.state, IndexState::newer);
  EXPECT_EQ(layout_of(*out.index), layout_of(Records{"one"}));
  ASSERT_TRUE(out.not_stored.has_value());
  EXPECT_THAT(out.not_stored->message(), HasSubstr("version 3"));
  EXPECT_EQ(stored(), bytes);
}

TEST_F(IndexFile, AnImpossibleSizeOfAFileTakesNoMemory) {
  const std::string path = write("data", {"one"});
  opened(path);
  std::filesystem::resize_file(store(), 30);
  std::filesystem::resize_file(store(), std::uintmax_t{1} << 42);
  expect_rebuilt(path, {"one"}, IndexState::absent, "");
  EXPECT_LT(std::filesystem::file_size(store()), 1000U);
}

/// While it exists, no user may write in the folder, not even the superuser.
class ReadOnly {
 public:
  explicit ReadOnly(const std::string& folder, const std::string& other) : folder_{folder} {
    ::chmod(folder.c_str(), 0555);
    if (::geteuid() != 0) return;
    dropped_ = true;
    EXPECT_EQ(::chown(other.c_str(), nobody, nobody), 0);
    EXPECT_EQ(::seteuid(nobody), 0);
  }
  ~ReadOnly() {
    if (dropped_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
    ::chmod(folder_.c_str(), 0755);
  }

 private:
  static constexpr uid_t nobody = 65534;
  std::string folder_;
  bool dropped_ = false;
};

TEST_F(IndexFile, GoesToTheCacheFolderWhenTheDataFolderIsReadOnly) {
  const Records records = some_records(20);
  const std::string path = write("data", records);
  const ReadOnly guard{folder_.path(), cache_.path()};
  const IndexOutcome out = opened(path);
  EXPECT_THAT(out.path.substr(cache().size()), ::testing::MatchesRegex("/[0-9a-f]{16}/index-v1"));
  struct stat status {};
  ASSERT_EQ(::stat(cache().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  const IndexOutcome again = opened(path);
  EXPECT_FALSE(again.built);
  EXPECT_EQ(layout_of(*again.index), layout_of(records));
}

TEST_F(IndexFile, WithoutAnyPlaceToStoreItIsStillThere) {
  const std::string path = write("data", {"one"});
  const Variable nowhere{"FOREBAY_CACHE", folder_.path() + "/cache"};
  const ReadOnly guard{folder_.path(), cache_.path()};
  const IndexOutcome out = opened(path);
  EXPECT_EQ(layout_of(*out.index), layout_of(Records{"one"}));
  EXPECT_EQ(out.path, "");
  ASSERT_TRUE(out.not_stored.has_value());
  EXPECT_EQ(out.not_stored->code(), Code::io);
}

TEST_F(IndexFile, ALinkPlantedInTheCacheFolderIsNotFollowed) {
  const Records records{"one", "two"};
  const std::string path = write("data", records);
  const std::string victim = cache_.write("victim", "precious");
  std::filesystem::create_directories(cache());
  std::filesystem::permissions(cache(), std::filesystem::perms::all);
  const std::string place = places_of(path, "")[1].path;
  std::filesystem::create_directories(std::filesystem::path{place}.parent_path());
  std::filesystem::permissions(std::filesystem::path{place}.parent_path(), std::filesystem::perms::all);
  std::filesystem::create_symlink(victim, place);
  const ReadOnly guard{folder_.path(), cache_.path()};
  EXPECT_EQ(found(path).state, IndexState::corrupt);
  const IndexOutcome out = opened(path);
  EXPECT_EQ(out.path, "");
  EXPECT_EQ(layout_of(*out.index), layout_of(records));
  EXPECT_EQ(tests::read_text(victim), "precious");
}

TEST_F(IndexFile, ALinkBesideTheFileIsReadThroughAndNeverWrittenThrough) {
  const std::string path = write("data", {"one", "two"});
  const std::string place = store();
  ASSERT_EQ(opened(path).path, place);
  const std::string elsewhere = cache_.path() + "/elsewhere";
  std::filesystem::rename(place, elsewhere);
  std::filesystem::create_symlink(elsewhere, place);
  EXPECT_EQ(found(path).state, IndexState::good);
  const std::string victim = cache_.write("victim", "precious");
  std::filesystem::remove(place);
  std::filesystem::create_symlink(victim, place);
  EXPECT_EQ(found(path).state, IndexState::absent);
  EXPECT_EQ(opened(path).path, "");
  EXPECT_EQ(tests::read_text(victim), "precious");
}

/// What remains in the folder when the index cannot be written to its end.
void store_with_a_full_disk(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small { 1000, 1000 };
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto out = load_or_build(request_for(path));
    ::_exit(out.ok() && out->index->records() == 500 && out->not_stored && out->path.empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the index was not delivered, or it was said to be stored";
}

TEST_F(IndexFile, AFullDiskLeavesNothingOrTheOldIndex) {
  const std::string path = write("data", some_records(500));
  store_with_a_full_disk(path);
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("data"));
  opened(write("other", {"one"}));
  const std::string old = stored();
  store_with_a_full_disk(path);
  EXPECT_EQ(stored(), old);
}

TEST_F(IndexFile, NobodyReadsItWhoMayNotReadTheFile) {
  const std::string path = write("data", {"secret"});
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  opened(path);
  struct stat status {};
  ASSERT_EQ(::stat(store().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(IndexFile, WritersAtOnceLeaveAGoodIndex) {
  const Records records = some_records(2000);
  const std::string path = write("data", records);
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove(store());
    std::vector<std::jthread> writers;
    for (int i = 0; i < 4; ++i) writers.emplace_back([&] { opened(path); });
    writers.clear();
    EXPECT_EQ(found(path).state, IndexState::good);
    EXPECT_THAT(folder_.names(), UnorderedElementsAre("data", ".forebay"));
  }
}

TEST_F(IndexFile, ACallerWhoWantsNoMoreStopsTheScan) {
  const std::string path = write("data", some_records(10));
  const auto out = load_or_build(request_for(path), [](std::int64_t) { return false; });
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::cancelled);
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("data"));
}

TEST_F(IndexFile, SeveralFilesAreIndexedAtOnceAndACorruptOneDoesNotStopTheOthers) {
  for (int i = 0; i < 6; ++i) write("part" + std::to_string(i), some_records(100));
  folder_.write("part3", "no records at all");
  const auto reports = index_files({folder_.path() + "/part*"}, {.threads = 3});
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(reports->size(), 6U);
  for (const IndexReport& report : *reports) {
    const bool bad = report.file.ends_with("3");
    EXPECT_EQ(report.error.has_value(), bad) << report.file;
    EXPECT_EQ(report.records, bad ? 0 : 100) << report.file;
    EXPECT_EQ(report.path, bad ? "" : store());
  }
}

TEST_F(IndexFile, CheckingMakesNothing) {
  const std::string path = write("data", {"one"});
  const IndexOptions only{.existing = IndexOptions::Existing::only_check};
  EXPECT_EQ(index_files({path}, only)->front().found, IndexState::absent);
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("data"));
  ASSERT_TRUE(index_files({path}).ok());
  EXPECT_EQ(index_files({path}, only)->front().found, IndexState::good);
}

TEST_F(IndexFile, AProgramThatWantsNoMoreStopsAllFiles) {
  const std::string path = write("data", {"one"});
  const auto out = index_files({path}, {.progress = [](const IndexProgress&) { return false; }});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::cancelled);
}

TEST_F(IndexFile, ProgressEndsWithAllFilesAndAllBytes) {
  write("one", some_records(100));
  write("two", some_records(200));
  IndexProgress last;
  ASSERT_TRUE(index_files({folder_.path() + "/*"}, {.progress =
                                                        [&](const IndexProgress& now) {
                                                          last = now;
                                                          return true;
                                                        }})
                  .ok());
  EXPECT_EQ(last.files_done, 2);
  EXPECT_EQ(last.bytes_done, last.bytes);
}

}  // namespace
}  // namespace forebay::engine
