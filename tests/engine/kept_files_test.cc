// SPDX-License-Identifier: Apache-2.0
#include "engine/kept_files.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/scanner.h"
#include "formats/framing.h"
#include "tests/formats/frames.h"
#include "tests/io/files.h"

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

}  // namespace
}  // namespace forebay::engine
