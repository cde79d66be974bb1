// SPDX-License-Identifier: Apache-2.0
#include "engine/read/record_index.h"

#include <cstring>

#include "engine/read/file_reader.h"
#include "engine/read/index_layout.h"
#include "tests/engine/index/index_fixture.h"

namespace forebay::engine {
namespace {

using Records = std::vector<std::string>;

class RecordIndexTest : public IndexTest, public testing::WithParamInterface<Compression> {
 protected:
  std::shared_ptr<const RecordIndex> built(const Records& records) {
    const auto index = build_index(request_for(write("data", records, GetParam()), GetParam()));
    EXPECT_TRUE(index.ok()) << index.error().text();
    return index.ok() ? *index : nullptr;
  }
};
INSTANTIATE_TEST_SUITE_P(Compressed, RecordIndexTest,
                         testing::Values(Compression::none, Compression::gzip, Compression::zlib, Compression::zstd));

TEST_P(RecordIndexTest, SaysOfEveryRecordWhatAStraightScanFinds) {
  for (const Records& records :
       {Records{}, Records{""}, Records{"one"}, some_records(3000), some_records(200, 100'000)}) {
    const auto index = built(records);
    ASSERT_NE(index, nullptr);
    EXPECT_EQ(layout_of(*index), layout_of(records)) << records.size();
    EXPECT_EQ(index->compression(), GetParam());
  }
}

TEST_P(RecordIndexTest, EveryRecordIsReachedFromTheRestartPointBeforeIt) {
  const Records records = some_records(300, 100'000);
  const auto index = built(records);
  ASSERT_NE(index, nullptr);
  if (GetParam() == Compression::none) {
    EXPECT_EQ(index->points(), 0);
    return;
  }
  EXPECT_GE(index->points(), index->bytes() / (3 * restart_interval));
  const auto file = io::File::open(folder_ / "data");
  for (std::int64_t i = 0; i < index->records(); i += 7) {
    const io::RestartPoint point = index->point_before(index->offset(i));
    ASSERT_LE(point.uncompressed, index->offset(i));
    auto inflater = io::Inflater::resume(index->compression(), point);
    std::string bytes(static_cast<std::size_t>(index->offset(i) - point.uncompressed) + index->length(i), '\0');
    const auto got = inflater->read(*file, std::as_writable_bytes(std::span{bytes}));
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(bytes.substr(bytes.size() - index->length(i)), records[static_cast<std::size_t>(i)]) << i;
  }
}

TEST_P(RecordIndexTest, TheLastPointAtOrBeforeAPlaceIsFound) {
  const auto index = built(some_records(150, 100'000));
  ASSERT_NE(index, nullptr);
  EXPECT_EQ(index->point_before(0), io::RestartPoint{});
  for (std::int64_t i = 1; i < index->points(); ++i) {
    const io::RestartPoint point = index->point(i);
    EXPECT_EQ(index->point_before(point.uncompressed), point);
    EXPECT_EQ(index->point_before(point.uncompressed - 1), index->point(i - 1));
  }
}

TEST_P(RecordIndexTest, HoldsTwelveBytesARecordBesidesItsWindows) {
  const auto index = built(some_records(5000));
  ASSERT_NE(index, nullptr);
  EXPECT_LT(index->image().size(), 12U * 5000 + 256 + 40'000U * static_cast<std::size_t>(index->points()));
}

TEST_P(RecordIndexTest, ACorruptFileHasNoIndexButAPlacedError) {
  const std::string path = write("data", {"first", "second", "third"});
  std::string bytes = tests::read_text(path);
  bytes[21 + 3] = static_cast<char>(bytes[21 + 3] ^ 1);  // in the length of the second record
  folder_.write("data", bytes);
  const auto index = build_index(request_for(path, Compression::none));
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code(), Code::data);
  EXPECT_EQ(index.error().place().file, path);
  EXPECT_EQ(index.error().place().record, 1);
  EXPECT_EQ(index.error().place().offset, 21);
}

TEST_P(RecordIndexTest, AScanFromARecordOfAFileThatGotShorterFailsWithItsPlace) {
  const Records records = some_records(20);
  const auto index = built(records);
  ASSERT_NE(index, nullptr);
  const std::string path = write("data", Records(records.begin(), records.begin() + 2), GetParam());
  const Source source{{path}, GetParam(), sources::tfrecord_format()};
  PassCache kept{0};
  FileReader scanner{source, 0, std::make_shared<BufferPool>(std::int64_t{1} << 30), kept};
  const auto done = scanner.skip_to(*index, 19);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().detail(), Detail::failed_precondition);
  EXPECT_EQ(done.error().message(), "the file changed while it was read: it ends before a record of its index");
  EXPECT_EQ(done.error().place().file, path);
  EXPECT_EQ(done.error().place().record, 19);
}

std::vector<std::byte> copy_of(const RecordIndex& index) { return {index.image().begin(), index.image().end()}; }

TEST_P(RecordIndexTest, EveryFlippedBitAndEveryCutIsRefused) {
  const auto index = built({"a", "", "bcd"});
  ASSERT_NE(index, nullptr);
  const std::vector<std::byte> image = copy_of(*index);
  ASSERT_TRUE(RecordIndex::parse(image).ok());
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    std::vector<std::byte> broken = image;
    broken[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto parsed = RecordIndex::parse(broken);
    ASSERT_FALSE(parsed.ok()) << bit;
    EXPECT_EQ(parsed.error().detail(), Detail::data_loss) << bit;
  }
  for (std::size_t size = 0; size < image.size(); ++size) {
    EXPECT_FALSE(RecordIndex::parse({image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size)}).ok()) << size;
  }
  std::vector<std::byte> longer = image;
  longer.push_back({});
  EXPECT_FALSE(RecordIndex::parse(longer).ok());
}

/// A small index by hand, whose parts a test makes impossible.
struct Parts {
  std::vector<Extent> records{{12, 5}, {33, 0}};
  std::vector<io::RestartPoint> points{{},
                                       {.at = io::RestartPoint::At::block,
                                        .bit = 3,
                                        .compressed = 20,
                                        .uncompressed = 30,
                                        .history = std::vector<std::byte>(30)}};
  IndexHead head{.identity = {.size = 40}, .compression = Compression::gzip, .bytes = 49};
  std::size_t content = 49;

  [[nodiscard]] bool accepted() const {
    RecordIndexBuilder builder{"by hand"};
    builder.add(records, 0);
    builder.add_content(std::vector<std::byte>(content), points);
    return builder.finish(head, points).ok();
  }
};

TEST(RecordIndex, WhatNoFileCanHaveIsRefusedThoughItsChecksumIsRight) {
  EXPECT_TRUE(Parts{}.accepted());
  EXPECT_FALSE((Parts{.records = {{33, 0}, {12, 5}}}).accepted());  // not in order
  EXPECT_FALSE((Parts{.records = {{12, 0}, {12, 0}}}).accepted());  // twice
  EXPECT_FALSE((Parts{.records = {{12, 38}}}).accepted());          // after the end
  EXPECT_FALSE((Parts{.points = {}}).accepted());
  EXPECT_FALSE((Parts{.content = 30}).accepted());  // a checksum too few
  const auto with = [](auto change) {
    Parts parts;
    change(parts);
    return parts.accepted();
  };
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].compressed = 40; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].compressed = 0; }));  // no header before it
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].uncompressed = 50; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].uncompressed = 0; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].bit = 8; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].history.resize(31); }));
  EXPECT_FALSE(with([](Parts& parts) { parts.points[1].at = io::RestartPoint::At::stream; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.points[0].bit = 1; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.head.compression = Compression::none; }));
  EXPECT_FALSE(with([](Parts& parts) { parts.head.compression = Compression::automatic; }));
}

TEST(RecordIndex, LengthsAreThoseOfTheRecordsWhateverLiesBetweenThem) {
  const std::vector<Extent> regular{{12, 5}, {33, 0}, {49, 7}, {72, 1}};
  for (std::size_t moved = 0; moved <= regular.size(); ++moved) {  // as after bytes that are no record; then not at all
    std::vector<Extent> records = regular;
    for (std::size_t i = moved; i < records.size(); ++i) records[i].offset += 9;
    for (const std::size_t count : {records.size(), std::size_t{2}, std::size_t{1}}) {
      const std::span<const Extent> some{records.data(), count};
      RecordIndexBuilder builder{"test"};
      builder.add(some, 0);
      const auto index = builder.finish({.identity = {.size = 100}, .bytes = 100}, {});
      ASSERT_TRUE(index.ok()) << index.error().text();
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ((*index)->offset(static_cast<std::int64_t>(i)), records[i].offset) << moved << " " << i;
        EXPECT_EQ((*index)->length(static_cast<std::int64_t>(i)), records[i].length) << moved << " " << i;
      }
    }
  }
}

TEST(RecordIndex, RecordsMayOverlapAndKeepTheirOffsetsAndLengths) {
  const std::vector<std::vector<Extent>> all{{{0, 30}, {10, 30}, {20, 30}},  // at equal distances
                                             {{0, 30}, {10, 5}, {12, 80}},   // one inside another
                                             {{0, 20}, {20, 20}, {30, 70}}};
  for (const std::vector<Extent>& records : all) {
    RecordIndexBuilder builder{"test"};
    builder.add(records, 0);
    const auto built = builder.finish({.identity = {.size = 100}, .bytes = 100}, {});
    ASSERT_TRUE(built.ok()) << built.error().text();
    const auto index = RecordIndex::parse(copy_of(**built));
    ASSERT_TRUE(index.ok()) << index.error().text();
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ((*index)->offset(static_cast<std::int64_t>(i)), records[i].offset) << i;
      EXPECT_EQ((*index)->length(static_cast<std::int64_t>(i)), records[i].length) << i;
      bytes += records[i].length;
    }
    EXPECT_EQ((*index)->payload_bytes(), bytes);
  }
}

TEST(RecordIndex, AClaimOfRecordsTakesNoMemory) {
  StoredHead head;
  std::vector<std::byte> image(sizeof(head) + index_checksum_bytes);
  head.total = image.size();
  for (const std::uint64_t claim :
       {std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} / 12}) {
    head.records = claim;
    std::memcpy(image.data(), &head, sizeof(head));
    EXPECT_FALSE(RecordIndex::parse(image).ok()) << claim;
  }
}

TEST(RecordIndex, ANewerVersionIsRefusedByItsNumber) {
  RecordIndexBuilder builder{"tfrecord"};
  std::vector<std::byte> image = copy_of(**builder.finish({}, {}));
  const std::uint32_t version[] = {index_version + 1, ~(index_version + 1)};
  std::memcpy(image.data() + 8, version, sizeof(version));
  const auto parsed = RecordIndex::parse(image);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().detail(), Detail::failed_precondition);
  EXPECT_EQ(parsed.error().message(), "the index has version 3; this program reads version 2");
}

}  // namespace
}  // namespace forebay::engine
