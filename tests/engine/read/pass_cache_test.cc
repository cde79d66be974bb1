// SPDX-License-Identifier: Apache-2.0
#include "engine/read/pass_cache.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/read/file_reader.h"
#include "sources/framing.h"
#include "tests/io/compressed.h"
#include "tests/io/files.h"
#include "tests/sources/frames.h"

namespace forebay::engine {
namespace {

/// TFRecord that counts how often it is asked for records.
class CountingFormat final : public Format {
 public:
  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    ++scans;
    return format_->scan(bytes, offset, last, limit, records);
  }
  Result<void> verify(std::span<const Record> records) const override { return format_->verify(records); }

  mutable int scans = 0;

 private:
  std::shared_ptr<const Format> format_ = sources::tfrecord_format({});
};

class CachedFrames : public ::testing::Test {
 protected:
  static constexpr int records = 40'000;  // three blocks of a quarter of a MiB

  static std::vector<std::string> expected(const std::string& word) {
    std::vector<std::string> out;
    for (int i = 0; i < records; ++i) out.push_back(word + std::to_string(i));
    return out;
  }
  static std::string contents(const std::string& word) { return tests::framed(expected(word)); }

  /// Every record of a pass over the file.
  std::vector<std::string> pass(PassCache& kept) {
    FileReader scanner{source_, 0, pool_, kept};
    std::vector<std::string> out;
    Block block;
    while (!block.last) {
      block.clear();
      scanner.scan(block);
      if (block.error) return {block.error->text()};
      for (const Extent extent : block.records)
        out.emplace_back(reinterpret_cast<const char*>(block.base + extent.offset), extent.length);
    }
    return out;
  }

  const tests::Folder folder_;
  const std::string path_ = folder_.write("data.tfrecord", contents("record "));
  const std::shared_ptr<CountingFormat> format_ = std::make_shared<CountingFormat>();
  const Source source_{{path_}, Compression::none, format_};
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 30);
};

TEST_F(CachedFrames, ALaterPassDoesNotLookForRecordsAgain) {
  PassCache kept{std::int64_t{1} << 30, true};
  EXPECT_EQ(pass(kept), expected("record "));
  const int once = format_->scans;
  EXPECT_GT(once, 2);
  EXPECT_EQ(pass(kept), expected("record "));
  EXPECT_EQ(format_->scans, once);
}

TEST_F(CachedFrames, OfAFileAreNotThereWhileTheProcessHasMappedTooMany) {
  PassCache kept{std::int64_t{1} << 30, true};
  std::vector<std::unique_ptr<MappedFile>> others;
  const auto file = io::File::open(path_);
  ASSERT_TRUE(file.ok());
  while (!MappedFile::too_many()) {
    auto mapping = MappedFile::map(*file);
    ASSERT_TRUE(mapping.ok()) << others.size();
    others.push_back(*std::move(mapping));
  }
  EXPECT_EQ(pass(kept), expected("record "));
  EXPECT_EQ(kept.bytes(), 0);  // it was read as a stream
  others.pop_back();
  EXPECT_EQ(pass(kept), expected("record "));
  EXPECT_GT(kept.bytes(), 0);
}

TEST_F(CachedFrames, AreLeftOutWhereTheCacheHasAsManyMappingsAsItMay) {
  const std::int64_t max = MappedFile::max_cached();
  PassCache kept{std::int64_t{1} << 40};
  const auto file = io::File::open(path_);
  ASSERT_TRUE(file.ok());
  for (std::int64_t i = 0; i < max; ++i) ASSERT_TRUE(kept.map(static_cast<std::uint32_t>(i), *file).kept) << i;
  const PassCache::Mapped more = kept.map(static_cast<std::uint32_t>(max), *file);
  EXPECT_NE(more.file, nullptr);
  EXPECT_FALSE(more.kept);
}

TEST_F(CachedFrames, AChangedFileIsLookedThroughAgain) {
  PassCache kept{std::int64_t{1} << 30, true};
  EXPECT_EQ(pass(kept), expected("record "));
  folder_.write("data.tfrecord", contents("other record "));
  EXPECT_EQ(pass(kept), expected("other record "));
  const int twice = format_->scans;
  EXPECT_EQ(pass(kept), expected("other record "));
  EXPECT_EQ(format_->scans, twice);
}

TEST_F(CachedFrames, AreLeftOutWhereThereIsNoRoomOrNoLaterPass) {
  const auto size = static_cast<std::int64_t>(contents("record ").size());
  PassCache little{size + 1000, true};
  EXPECT_EQ(pass(little), expected("record "));
  EXPECT_EQ(little.bytes(), size);
  PassCache once{std::int64_t{1} << 30};
  EXPECT_EQ(pass(once), expected("record "));
  EXPECT_EQ(once.bytes(), size);
  EXPECT_EQ(pass(once), expected("record "));
}

TEST_F(CachedFrames, OfAFileWithACorruptHeaderAreNotKept) {
  std::string corrupt = contents("record ");
  corrupt[corrupt.size() - 28] ^= 1;
  folder_.write("data.tfrecord", corrupt);
  PassCache kept{std::int64_t{1} << 30, true};
  const std::vector<std::string> first = pass(kept);
  EXPECT_EQ(first.size(), 1U);
  EXPECT_EQ(kept.bytes(), static_cast<std::int64_t>(corrupt.size()));
  EXPECT_EQ(pass(kept), first);
}

/// All that a pass over a compressed file says, block by block.
class CachedContent : public CachedFrames {
 protected:
  CachedContent() { rewrite("record "); }
  void rewrite(const std::string& word) const { folder_.write("data.gz", compressed(word)); }
  static std::string compressed(const std::string& word) { return tests::compress(contents(word), tests::gzip_window); }

  struct Told {
    std::vector<std::string> records, blocks;
    bool operator==(const Told&) const = default;
  };
  Told tell(PassCache& kept, Corruption corruption = Corruption::fail) {
    FileReader scanner{gzip_, 0, pool_, kept, corruption};
    Told out;
    Block block;
    while (!block.last) {
      block.clear();
      scanner.scan(block);
      if (block.error) return {{block.error->text()}, {}};
      for (const Extent extent : block.records)
        out.records.emplace_back(reinterpret_cast<const char*>(block.base + extent.offset), extent.length);
      out.blocks.push_back(fmt::format("{} records from {}, {} to {}, {} bytes read, {}", block.records.size(),
                                       block.first_record, block.file_offset, block.file_end, block.bytes_read,
                                       block.fraction));
    }
    return out;
  }

  const Source gzip_{{folder_ / "data.gz"}, Compression::automatic, format_};
};

TEST_F(CachedContent, ALaterPassIsTheSameWithoutScanningOrInflating) {
  PassCache kept{std::int64_t{1} << 30, true};
  const Told first = tell(kept);
  EXPECT_EQ(first.records, expected("record "));
  EXPECT_GT(first.blocks.size(), 1U);
  const int scans = format_->scans;
  const std::int64_t used = pool_->used();
  EXPECT_GE(used, static_cast<std::int64_t>(contents("record ").size()));
  EXPECT_EQ(tell(kept), first);
  EXPECT_EQ(format_->scans, scans);
  EXPECT_EQ(pool_->used(), used);
}

TEST_F(CachedContent, OfAChangedFileIsReadAgain) {
  PassCache kept{std::int64_t{1} << 30, true};
  EXPECT_EQ(tell(kept).records, expected("record "));
  rewrite("other record ");
  EXPECT_EQ(tell(kept).records, expected("other record "));
  const int scans = format_->scans;
  EXPECT_EQ(tell(kept).records, expected("other record "));
  EXPECT_EQ(format_->scans, scans);
}

TEST_F(CachedContent, IsLeftOutWhereThereIsNoRoomOrNoLaterPass) {
  PassCache little{static_cast<std::int64_t>(contents("record ").size()), true};  // half of it is for content
  PassCache once{std::int64_t{1} << 30};
  for (PassCache* const kept : {&little, &once}) {
    const Told first = tell(*kept);
    EXPECT_EQ(first.records, expected("record "));
    EXPECT_EQ(pool_->used(), 0);
    const int scans = format_->scans;
    EXPECT_EQ(tell(*kept), first);
    EXPECT_GT(format_->scans, scans);
  }
}

TEST_F(CachedContent, IsDroppedForGoodWhenMemoryIsNeeded) {
  PassCache kept{std::int64_t{1} << 30, true};
  const Told first = tell(kept);
  kept.drop_contents();
  EXPECT_EQ(pool_->used(), 0);
  EXPECT_EQ(tell(kept), first);
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(CachedContent, OfACorruptFileIsNotKept) {
  std::string corrupt = compressed("record ");
  corrupt[corrupt.size() - 5] ^= 1;
  folder_.write("data.gz", corrupt);
  PassCache kept{std::int64_t{1} << 30, true};
  const Told first = tell(kept);
  EXPECT_EQ(first.records.size(), 1U);
  EXPECT_EQ(tell(kept), first);
  EXPECT_TRUE(tell(kept, Corruption::find).records.empty());  // the records have no checksums: any of them may be wrong
  EXPECT_EQ(pool_->used(), 0);
}

}  // namespace
}  // namespace forebay::engine
