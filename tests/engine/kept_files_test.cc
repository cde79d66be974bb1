// SPDX-License-Identifier: Apache-2.0
#include "engine/kept_files.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/scanner.h"
#include "formats/framing.h"
#include "tests/formats/frames.h"
#include "tests/io/files.h"
#include "tests/io/packed.h"

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
  std::shared_ptr<const Format> format_ = formats::tfrecord_format({});
};

class KeptFrames : public ::testing::Test {
 protected:
  static constexpr int records = 40'000;  // three blocks of a quarter of a MiB

  static std::vector<std::string> expected(const std::string& word) {
    std::vector<std::string> out;
    for (int i = 0; i < records; ++i) out.push_back(word + std::to_string(i));
    return out;
  }
  static std::string contents(const std::string& word) { return tests::framed(expected(word)); }

  /// Every record of a pass over the file.
  std::vector<std::string> pass(KeptFiles& kept) {
    Scanner scanner{source_, 0, pool_, kept};
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
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(std::int64_t{1} << 30);
};

TEST_F(KeptFrames, ALaterPassDoesNotLookForRecordsAgain) {
  KeptFiles kept{std::int64_t{1} << 30, true};
  EXPECT_EQ(pass(kept), expected("record "));
  const int once = format_->scans;
  EXPECT_GT(once, 2);
  EXPECT_EQ(pass(kept), expected("record "));
  EXPECT_EQ(format_->scans, once);
}

TEST_F(KeptFrames, AChangedFileIsLookedThroughAgain) {
  KeptFiles kept{std::int64_t{1} << 30, true};
  EXPECT_EQ(pass(kept), expected("record "));
  folder_.write("data.tfrecord", contents("other record "));
  EXPECT_EQ(pass(kept), expected("other record "));
  const int twice = format_->scans;
  EXPECT_EQ(pass(kept), expected("other record "));
  EXPECT_EQ(format_->scans, twice);
}

TEST_F(KeptFrames, AreLeftOutWhereThereIsNoRoomOrNoLaterPass) {
  const auto size = static_cast<std::int64_t>(contents("record ").size());
  KeptFiles little{size + 1000, true};
  EXPECT_EQ(pass(little), expected("record "));
  EXPECT_EQ(little.bytes(), size);
  KeptFiles once{std::int64_t{1} << 30};
  EXPECT_EQ(pass(once), expected("record "));
  EXPECT_EQ(once.bytes(), size);
  EXPECT_EQ(pass(once), expected("record "));
}

TEST_F(KeptFrames, OfAFileWithADamagedHeaderAreNotKept) {
  std::string damaged = contents("record ");
  damaged[damaged.size() - 28] ^= 1;
  folder_.write("data.tfrecord", damaged);
  KeptFiles kept{std::int64_t{1} << 30, true};
  const std::vector<std::string> first = pass(kept);
  EXPECT_EQ(first.size(), 1U);
  EXPECT_EQ(kept.bytes(), static_cast<std::int64_t>(damaged.size()));
  EXPECT_EQ(pass(kept), first);
}

/// All that a pass over a packed file says, block by block.
class KeptContent : public KeptFrames {
 protected:
  KeptContent() { rewrite("record "); }
  void rewrite(const std::string& word) const { folder_.write("data.gz", packed(word)); }
  static std::string packed(const std::string& word) { return tests::pack(contents(word), tests::gzip_window); }

  struct Told {
    std::vector<std::string> records, blocks;
    bool operator==(const Told&) const = default;
  };
  Told tell(KeptFiles& kept, Damage damage = Damage::fail) {
    Scanner scanner{gzip_, 0, pool_, kept, damage};
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

TEST_F(KeptContent, ALaterPassIsTheSameWithoutScanningOrInflating) {
  KeptFiles kept{std::int64_t{1} << 30, true};
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

TEST_F(KeptContent, OfAChangedFileIsReadAgain) {
  KeptFiles kept{std::int64_t{1} << 30, true};
  EXPECT_EQ(tell(kept).records, expected("record "));
  rewrite("other record ");
  EXPECT_EQ(tell(kept).records, expected("other record "));
  const int scans = format_->scans;
  EXPECT_EQ(tell(kept).records, expected("other record "));
  EXPECT_EQ(format_->scans, scans);
}

TEST_F(KeptContent, IsLeftOutWhereThereIsNoRoomOrNoLaterPass) {
  KeptFiles little{static_cast<std::int64_t>(contents("record ").size()), true};  // half of it is for content
  KeptFiles once{std::int64_t{1} << 30};
  for (KeptFiles* const kept : {&little, &once}) {
    const Told first = tell(*kept);
    EXPECT_EQ(first.records, expected("record "));
    EXPECT_EQ(pool_->used(), 0);
    const int scans = format_->scans;
    EXPECT_EQ(tell(*kept), first);
    EXPECT_GT(format_->scans, scans);
  }
}

TEST_F(KeptContent, IsDroppedForGoodWhenMemoryIsNeeded) {
  KeptFiles kept{std::int64_t{1} << 30, true};
  const Told first = tell(kept);
  kept.drop_contents();
  EXPECT_EQ(pool_->used(), 0);
  EXPECT_EQ(tell(kept), first);
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(KeptContent, OfADamagedFileIsNotKept) {
  std::string damaged = packed("record ");
  damaged[damaged.size() - 5] ^= 1;
  folder_.write("data.gz", damaged);
  KeptFiles kept{std::int64_t{1} << 30, true};
  const Told first = tell(kept);
  EXPECT_EQ(first.records.size(), 1U);
  EXPECT_EQ(tell(kept), first);
  EXPECT_EQ(tell(kept, Damage::find).records, expected("record "));
  EXPECT_EQ(pool_->used(), 0);
}

}  // namespace
}  // namespace forebay::engine
