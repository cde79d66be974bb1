// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <forebay/convert_records.h>
#include <forebay/index.h>
#include <forebay/records.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/documents.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::int64_t records_each = 40;

/// Three files, of which each has a compression of its own. Record i is the text of i.
class ConvertRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr Compression compressions[] = {Compression::none, Compression::gzip, Compression::zstd};
    for (std::int64_t file = 0; file < 3; ++file) {
      std::vector<std::string> some;
      for (std::int64_t i = 0; i < records_each; ++i) some.push_back(std::to_string(file * records_each + i));
      const std::string path = folder.path() + "/in-" + std::to_string(file);
      ASSERT_TRUE(write_records(path, some, compressions[file]).ok());
      all.insert(all.end(), some.begin(), some.end());
    }
  }

  [[nodiscard]] auto convert(const std::string& name, const ConvertRecordsOptions& options) const {
    return convert_records({folder.path() + "/in-*"}, folder.path() + "/" + name, options);
  }
  /// The records of all files, and the file of each path that was made.
  static std::vector<std::string> records_of(const std::vector<ConvertedFile>& files) {
    std::vector<std::string> out;
    for (const ConvertedFile& file : files) {
      const auto some = read_records(file.path);
      EXPECT_TRUE(some.ok()) << some.error().text();
      EXPECT_EQ(std::ssize(*some), file.records);
      out.insert(out.end(), some->begin(), some->end());
    }
    return out;
  }
  /// Names and bytes of the files in a folder, without those that begin with a dot.
  [[nodiscard]] std::map<std::string, std::string> content(const std::string& name) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::directory_iterator{folder.path() + "/" + name}) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file{entry.path(), std::ios::binary};
      out[entry.path().filename().string()] = {std::istreambuf_iterator<char>{file}, {}};
    }
    return out;
  }

  const Folder folder;
  std::vector<std::string> all;
};

TEST_F(ConvertRecords, DividesRecordsAnewInTheirOrder) {
  const auto files = convert("out/a.tfrecord", {.files = 7});
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ(records_of(*files), all);
  EXPECT_EQ(files->front().path, folder.path() + "/out/a-00000-of-00007.tfrecord");
  const auto spread = std::ranges::minmax(*files, {}, &ConvertedFile::records);
  EXPECT_LE(spread.max.records - spread.min.records, 1);
}

TEST_F(ConvertRecords, CompressesAsTheNameSaysAndStoresIndexes) {
  const auto files = convert("out/a.tfrecord.zst", {.files = 2});
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ(records_of(*files), all);
  EXPECT_TRUE(read_records(files->front().path, Compression::zstd).ok());
  const auto checked = index_files({folder.path() + "/out/a-*"}, {.existing = IndexOptions::Existing::only_check});
  ASSERT_TRUE(checked.ok());
  for (const IndexReport& report : *checked) EXPECT_EQ(report.found, IndexState::good) << report.file;
}

TEST_F(ConvertRecords, ShufflesAllRecordsByTheSeedForAnyNumberOfFiles) {
  const auto three = convert("three/a", {.files = 3, .shuffle = true, .seed = 5, .threads = 2});
  const auto one = convert("one/a", {.shuffle = true, .seed = 5, .threads = 1});
  const auto other = convert("other/a", {.shuffle = true, .seed = 6});
  ASSERT_TRUE(three.ok() && one.ok() && other.ok());
  const std::vector<std::string> shuffled = records_of(*one);
  EXPECT_EQ(records_of(*three), shuffled);
  EXPECT_NE(records_of(*other), shuffled);
  EXPECT_NE(shuffled, all);
  EXPECT_THAT(shuffled, ::testing::UnorderedElementsAreArray(all));
}

TEST_F(ConvertRecords, ShardsMakeTheFilesOfOneCall) {
  ASSERT_TRUE(convert("whole/a.gz", {.files = 5}).ok());
  ASSERT_TRUE(convert("parts/a.gz", {.files = 5, .shard = {.index = 1, .count = 2}}).ok());
  EXPECT_EQ(content("parts").size(), 2U);
  ASSERT_TRUE(convert("parts/a.gz", {.files = 5, .shard = {.index = 0, .count = 2}}).ok());
  EXPECT_EQ(content("parts"), content("whole"));
}

TEST_F(ConvertRecords, GoesOnWithTheSameConversionOnly) {
  const ConvertRecordsOptions options{.files = 4, .shuffle = true, .seed = 1, .existing = ExistingOutput::resume};
  ASSERT_TRUE(convert("out/a", options).ok());
  const auto whole = content("out");
  fs::remove(folder.path() + "/out/a-00002-of-00004");
  const auto files = convert("out/a", options);
  ASSERT_TRUE(files.ok()) << files.error().text();
  std::vector<bool> made;
  for (const ConvertedFile& file : *files) made.push_back(file.made);
  EXPECT_EQ(made, (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(content("out"), whole);
  const auto other = convert("out/a", {.files = 4, .existing = ExistingOutput::resume});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), Code::state);
  EXPECT_THAT(other.error().message(), HasSubstr("seed was 1 and is not set now"));
}

TEST_F(ConvertRecords, RefusesFilesThatExistUnlessTheyAreToBeReplaced) {
  folder.write("a", "mine");
  const auto refused = convert("a", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().place().file, folder.path() + "/a");
  const auto resumed = convert("a", {.existing = ExistingOutput::resume});
  ASSERT_FALSE(resumed.ok());
  EXPECT_THAT(resumed.error().message(), HasSubstr("no conversion of these names was begun here"));
  const auto replaced = convert("a", {.existing = ExistingOutput::replace});
  ASSERT_TRUE(replaced.ok()) << replaced.error().text();
  EXPECT_EQ(records_of(*replaced), all);
}

TEST_F(ConvertRecords, ACorruptInputLeavesNoHalfFile) {
  {
    std::fstream file{folder.path() + "/in-0", std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(12 + 1 + 4 + 12);  // the payload of record 1
    file.put('x');
  }
  for (const bool shuffle : {false, true}) {
    const auto failed = convert("out/a", {.shuffle = shuffle});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code(), Code::data);
    EXPECT_EQ(failed.error().place().record, 1);
    EXPECT_TRUE(content("out").empty());
  }
}

TEST_F(ConvertRecords, MakesAsManyFilesAsTheSizeAsksFor) {
  const std::int64_t bytes =
      3 * records_each * 16 + static_cast<std::int64_t>(10 + 2 * 90 + 3 * 20);  // frames and digits
  const auto files = convert("out/a", {.file_bytes = bytes / 5 + 1});
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_EQ(files->size(), 5U);
}

TEST_F(ConvertRecords, AnOutputWithoutRecordsIsAFile) {
  ASSERT_TRUE(write_records(folder.path() + "/none", {}).ok());
  const auto files = convert_records({folder.path() + "/none"}, folder.path() + "/out.gz", {.files = 2});
  ASSERT_TRUE(files.ok()) << files.error().text();
  EXPECT_TRUE(records_of(*files).empty());
}

TEST(OutputFile, IsNumberedBeforeTheEndingOfItsName) {
  EXPECT_EQ(output_file("a.csv.gz", 2, 8), "a-00002-of-00008.csv.gz");
  EXPECT_EQ(output_file("x.y/a", 0, 2), "x.y/a-00000-of-00002");
  EXPECT_EQ(output_file("x/.a.b", 0, 2), "x/.a-00000-of-00002.b");
  EXPECT_EQ(output_file("a.csv", 0, 1), "a.csv");
}

}  // namespace
}  // namespace forebay
