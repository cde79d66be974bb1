// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/block_table.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

constexpr std::size_t block_records = 100;
constexpr std::size_t record_length = 8;

class Table : public ::testing::Test {
 protected:
  /// A block in memory of its own, as a scan of a compressed file gives it.
  [[nodiscard]] std::unique_ptr<Block> block() const {
    auto out = std::make_unique<Block>();
    out->buffer_bytes = block_records * (record_length + min_room_after);
    out->buffer = pool_->lend(out->buffer_bytes);
    out->base = out->buffer.get();
    for (std::size_t i = 0; i < block_records; ++i)
      out->records.push_back({static_cast<std::uint32_t>(i * (record_length + min_room_after)), record_length});
    return out;
  }
  [[nodiscard]] std::vector<Handle> handles(std::uint32_t slot, std::size_t first, std::size_t end) const {
    std::vector<Handle> out;
    for (std::size_t i = first; i < end; ++i)
      out.push_back({.block = slot, .ordinal = static_cast<std::uint32_t>(i), .offset = 0, .length = record_length});
    return out;
  }
  void hand_over(const std::vector<Handle>& rows, std::int64_t batch) {
    table_.hand_over(rows, batch, {.payloads = payloads_, .blocks = blocks_, .unmapped = unmapped_});
  }

  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 20);
  BlockTable table_{pool_};
  std::vector<const std::byte*> payloads_;
  std::vector<UsedBlock> blocks_;
  std::vector<Unmapped> unmapped_;
};

TEST_F(Table, GivesBackAsManyBlocksAsWereAddedHoweverOftenTheyAreCompacted) {
  Recycler<Block> free;
  for (std::int64_t batch = 0; batch < 20; batch += 2) {
    const std::uint32_t slot = table_.add(block());
    table_.release_stream(slot, batch);
    hand_over(handles(slot, 0, 90), batch);
    table_.compact(batch);
    hand_over(handles(slot, 90, block_records), batch + 1);
    table_.collect(batch + 2, free);
    EXPECT_NE(free.take(), nullptr) << batch;
    EXPECT_EQ(free.take(), nullptr) << batch;
    EXPECT_EQ(table_.pinned_bytes(), 0);
    EXPECT_EQ(pool_->used(), 0);
  }
}

TEST_F(Table, CompactionChangesNoExtentOfABlockThatIsStillRead) {
  auto scanned = block();
  for (std::size_t i = 0; i < block_records; ++i) scanned->buffer.get()[scanned->records[i].offset] = std::byte(i);
  const std::vector<Extent> extents = scanned->records;
  const std::uint32_t slot = table_.add(std::move(scanned));  // its stream goes on
  hand_over(handles(slot, 0, 90), 0);
  table_.compact(0);
  EXPECT_LT(table_[slot].buffer_bytes, block_records * record_length);  // it was compacted
  const auto offset = [](const Extent& extent) { return extent.offset; };
  EXPECT_TRUE(std::ranges::equal(table_[slot].records, extents, {}, offset, offset));
  hand_over(handles(slot, 90, block_records), 1);
  std::vector<std::byte> first_bytes;
  for (const std::byte* payload : payloads_) first_bytes.push_back(*payload);
  std::vector<std::byte> expected;
  for (std::size_t i = 90; i < block_records; ++i) expected.push_back(std::byte(i));
  EXPECT_EQ(first_bytes, expected);
}

TEST_F(Table, CopiesOfSingleRecordsAreNotGivenBackToBeFilledAgain) {
  Recycler<Block> free;
  auto copies = block();
  for (std::uint32_t i = 0; i < block_records; ++i) copies->ordinals.push_back(i);
  const std::uint32_t slot = table_.add_copies(std::move(copies), block_records);
  hand_over(handles(slot, 0, block_records), 0);
  table_.collect(1, free);
  EXPECT_EQ(free.take(), nullptr);
  EXPECT_EQ(pool_->used(), 0);
}

}  // namespace
}  // namespace forebay::engine
