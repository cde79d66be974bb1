// SPDX-License-Identifier: Apache-2.0
#include "engine/read/file_cache.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/io/files.h"
#include "tests/support/how_much.h"
#include "tests/support/resident.h"

namespace forebay::engine {
namespace {

constexpr std::size_t file_bytes = 300'000;

/// Byte `offset` of file `file`.
char byte_of(std::size_t file, std::size_t offset) { return static_cast<char>('a' + (offset / 7 + 5 * file) % 26); }

class Reopened : public ::testing::Test {
 protected:
  void make(std::size_t count) {
    for (std::size_t number = 0; number < count; ++number) {
      std::string content(file_bytes, ' ');
      for (std::size_t i = 0; i < content.size(); ++i) content[i] = byte_of(number, i);
      paths_.push_back(folder_.write(std::to_string(number), content));
      auto mapping = MappedFile::map(*io::File::open(paths_.back()));
      ASSERT_TRUE(mapping.ok());
      mappings_.push_back(*std::move(mapping));
    }
    files_ = std::make_unique<FileCache>(paths_, *pool_);
  }
  /// What is read of each of `files` at each of `offsets`, a hundred bytes.
  [[nodiscard]] std::vector<std::string> read(const std::vector<std::size_t>& files,
                                              const std::vector<std::int64_t>& offsets) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < files.size() * offsets.size(); ++i) out.emplace_back(100, '?');
    std::vector<FileCache::Wanted> wanted;
    for (const std::size_t file : files) {
      for (const std::int64_t offset : offsets) {
        wanted.push_back({.file = static_cast<std::uint32_t>(file),
                          .offset = offset,
                          .mapping = mappings_[file].get(),
                          .out = std::as_writable_bytes(std::span{out[wanted.size()]})});
      }
    }
    EXPECT_TRUE(files_->read(wanted).ok());
    for (std::size_t i = 0; i < wanted.size(); ++i) out[i].resize(wanted[i].got);
    return out;
  }
  [[nodiscard]] static std::vector<std::string> expected(const std::vector<std::size_t>& files,
                                                         const std::vector<std::int64_t>& offsets) {
    std::vector<std::string> out;
    for (const std::size_t file : files) {
      for (const std::int64_t offset : offsets) {
        std::string& piece = out.emplace_back();
        for (auto i = static_cast<std::size_t>(offset); i < std::min<std::size_t>(file_bytes, offset + 100); ++i)
          piece += byte_of(file, i);
      }
    }
    return out;
  }

  tests::Folder folder_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 30);
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<MappedFile>> mappings_;
  std::unique_ptr<FileCache> files_;
  const std::vector<std::int64_t> offsets_{0, 4090, 299'850, 299'950, 70'000};
};

TEST_F(Reopened, AreReadAtAnyPlaceAndFewerBytesAtTheEnd) {
  make(3);
  EXPECT_EQ(read({2, 0, 1, 0}, offsets_), expected({2, 0, 1, 0}, offsets_));
}

TEST_F(Reopened, AreReadHoweverManyThereAre) {
  make(130);
  std::vector<std::size_t> files;
  for (std::size_t i = 0; i < 130; ++i) files.push_back(i * 67 % 130);
  for (int again = 0; again < 2; ++again) EXPECT_EQ(read(files, offsets_), expected(files, offsets_));
}

TEST_F(Reopened, WhoseNamesAreGoneOrStandForOthersAreReadWhereTheyAreMapped) {
  make(3);
  std::filesystem::remove(paths_[0]);
  std::filesystem::rename(paths_[2], paths_[1]);
  EXPECT_EQ(read({0, 1}, offsets_), expected({0, 1}, offsets_));
}

TEST_F(Reopened, WhereTheyAreMappedNoPagesStay) {
  if (tests::sanitized) GTEST_SKIP() << "a sanitizer's own memory is in the way";
  constexpr std::size_t large = std::size_t{64} << 20;
  paths_.push_back(folder_.write("large", std::string(large, 'x')));
  auto mapping = MappedFile::map(*io::File::open(paths_.back()));
  ASSERT_TRUE(mapping.ok());
  mappings_.push_back(*std::move(mapping));
  files_ = std::make_unique<FileCache>(paths_, *pool_);
  std::filesystem::remove(paths_[0]);
  const std::int64_t before = tests::resident_bytes();
  for (std::int64_t offset = 0; offset < static_cast<std::int64_t>(large); offset += 50'000)
    ASSERT_EQ(read({0}, {offset}).front().front(), 'x');
  EXPECT_LT(tests::resident_bytes() - before, std::int64_t{8} << 20);
}

TEST_F(Reopened, ThatWereCutShortGiveNothing) {
  make(1);
  std::filesystem::resize_file(paths_[0], 100'000);
  EXPECT_EQ(read({0}, {200'000}), std::vector<std::string>{""});
  std::filesystem::remove(paths_[0]);
  EXPECT_EQ(read({0}, {0}), std::vector<std::string>{""}) << "what else was overwritten is not known";
}

}  // namespace
}  // namespace forebay::engine
