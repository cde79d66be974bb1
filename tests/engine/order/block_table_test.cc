// SPDX-License-Identifier: Apache-2.0
#include "engine/order/block_table.h"

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
