// SPDX-License-Identifier: Apache-2.0
#include "engine/blocks/block_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "columns/take/row_copy.h"

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

TEST_F(Table, DropsTheDecodedRecordsOfTheOldestBlocks) {
  const auto decoded = [this] {
    auto out = block();
    out->decoded = {.rows = std::make_shared<const RowBlock>(RowBlock{.rows = block_records}), .bytes = 100};
    return out;
  };
  std::vector<std::weak_ptr<const RowBlock>> rows;
  std::vector<std::uint32_t> slots;
  for (int i = 0; i < 3; ++i) {
    auto added = decoded();
    rows.push_back(added->decoded.rows);
    slots.push_back(table_.add(std::move(added)));
  }
  Recycler<Block> free;
  std::vector<Handle> one_of_each;
  for (const std::uint32_t slot : slots) one_of_each.push_back(handles(slot, 0, 1)[0]);
  hand_over(one_of_each, 7);
  const RowBlock* const oldest = rows[0].lock().get();
  EXPECT_EQ(blocks_[0].decoded, oldest);

  table_.limit_decoded(200, 8);
  EXPECT_FALSE(rows[0].expired()) << "batch 7 still reads it";
  table_.collect(9, free);
  EXPECT_TRUE(rows[0].expired());
  for (Handle& handle : one_of_each) handle.ordinal = 1;
  hand_over(one_of_each, 10);
  EXPECT_EQ(blocks_[0].decoded, nullptr);
  EXPECT_EQ(blocks_[2].decoded, rows[2].lock().get());

  table_.release_rest(slots[1], 2, 11);
  table_.release_stream(slots[1], 11);
  table_.collect(12, free);
  EXPECT_TRUE(rows[1].expired()) << "its block retired";
  table_.limit_decoded(100, 12);
  table_.collect(13, free);
  EXPECT_FALSE(rows[2].expired()) << "the retired block does not count";
}

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

TEST_F(Table, ARecordThatIsHeldSurvivesItsFirstHandle) {
  auto scanned = block();
  for (std::size_t i = 0; i < block_records; ++i) scanned->buffer.get()[scanned->records[i].offset] = std::byte(i);
  const std::uint32_t slot = table_.add(std::move(scanned));
  table_.release_stream(slot, 0);
  const auto held = handles(slot, 40, 43);
  table_.hold(held);
  table_.hold(handles(slot, 41, 42));
  hand_over(handles(slot, 0, block_records), 0);
  table_.compact(0);
  EXPECT_LT(table_[slot].buffer_bytes, block_records * record_length);
  for (const std::size_t record : {40U, 42U, 41U, 41U}) {
    hand_over(handles(slot, record, record + 1), 1);
    EXPECT_EQ(*payloads_.front(), std::byte(record));
  }
  Recycler<Block> free;
  table_.collect(2, free);
  EXPECT_EQ(pool_->used(), 0);
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

/// Row blocks of a reader with the columns n, which counts, and text, which has a size of its own in every row.
class RowTable : public ::testing::Test {
 protected:
  RowTable() {
    schema_.put({.name = "n", .dtype = DType::int64, .shape = {}});
    schema_.put({.name = "text", .dtype = DType::string, .shape = {unknown_dim}, .delivery = Delivery::ragged});
  }
  /// Enters `rows` rows that count from `first` on.
  std::uint32_t add(std::int64_t first, std::int64_t rows) {
    auto columns = std::make_shared<std::vector<Column>>();
    columns->emplace_back(schema_[0]);
    columns->emplace_back(schema_[1]);
    for (std::int64_t n = first; n < first + rows; ++n) {
      columns->front().values.push<std::int64_t>(n);
      ++columns->front().rows;
      for (std::int64_t i = 0; i < n % 3; ++i) columns->back().push_string(text_of(n + i));
      columns->back().end_row(std::array<std::int64_t, 1>{n % 3});
    }
    auto rows_of = std::make_shared<RowBlock>();
    rows_of->rows = rows;
    for (const Column& column : *columns) rows_of->columns.push_back(columns::view_of(column));
    rows_of->owner = columns;
    auto block = std::make_unique<Block>();
    block->rows = std::move(rows_of);
    block->row_schema = &schema_;
    block->buffer_bytes = static_cast<std::size_t>(rows) * 100;
    block->row_charge = pool_->charge(rows * 100);
    const std::uint32_t slot = table_.add(std::move(block));
    table_.release_stream(slot, 0);
    return slot;
  }
  static std::vector<std::byte> text_of(std::int64_t n) {
    const std::string text = "text " + std::to_string(n);
    const auto bytes = std::as_bytes(std::span{text});
    return {bytes.begin(), bytes.end()};
  }
  static std::vector<Handle> rows_of(std::uint32_t slot, const std::vector<std::uint32_t>& ordinals) {
    std::vector<Handle> out;
    for (const std::uint32_t n : ordinals) out.push_back({.block = slot, .ordinal = n, .offset = n, .length = 1});
    return out;
  }
  /// Hands over rows, and checks that each is the row of its ordinal.
  void hand_over(std::uint32_t slot, const std::vector<std::uint32_t>& ordinals, std::int64_t batch) {
    std::vector<Handle> handles = rows_of(slot, ordinals);
    table_.hand_over_rows(handles, batch, row_blocks_, blocks_);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const auto n = std::int64_t{ordinals[i]};
      EXPECT_EQ(handles[i].ordinal, ordinals[i]) << "origins need the first ordinal";
      const RowBlock& rows = *row_blocks_[i];
      const std::int64_t row = handles[i].offset;
      std::int64_t found = -1;
      std::memcpy(&found, rows.columns[0].data + row * rows.columns[0].row_stride, sizeof(found));
      EXPECT_EQ(found, n);
      Column text{schema_[1]};
      columns::append_row(rows.columns[1], row, schema_[1].shape, text);
      ASSERT_EQ(text.elements(), n % 3);
      for (std::int64_t item = 0; item < n % 3; ++item)
        EXPECT_TRUE(std::ranges::equal(text.string(item), text_of(n + item)));
    }
  }

  Schema schema_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 20);
  BlockTable table_{pool_};
  std::vector<const RowBlock*> row_blocks_;
  std::vector<UsedBlock> blocks_;
};

TEST_F(RowTable, RowsOfABlockThatIsCompactedAgainAndAgainStayTheSame) {
  Recycler<Block> free;
  const std::uint32_t slot = add(0, 1000);
  std::vector<std::uint32_t> left;
  for (std::uint32_t n = 0; n < 1000; ++n) left.push_back(n * 7 % 1000);
  std::int64_t batch = 0;
  std::size_t before = table_[slot].buffer_bytes;
  for (std::size_t take : {800U, 151U, 39U}) {
    hand_over(slot, {left.end() - static_cast<std::ptrdiff_t>(take), left.end()}, batch);
    const RowBlock* const old = row_blocks_.front();
    const std::int64_t row = old->rows;
    left.resize(left.size() - take);
    table_.compact(batch);
    EXPECT_LT(table_[slot].buffer_bytes, before);
    before = table_[slot].buffer_bytes;
    EXPECT_EQ(table_[slot].count(), left.size());
    EXPECT_EQ(old->rows, row) << "the batch still reads the old block";
    table_.collect(++batch, free);
    EXPECT_EQ(table_.pinned_bytes(), static_cast<std::int64_t>(before));
    EXPECT_EQ(pool_->used(), static_cast<std::int64_t>(before)) << "the old block is gone";
  }
  hand_over(slot, left, batch);
  table_.collect(batch + 1, free);
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(RowTable, ABlockIsCompactedWhenLessThanAQuarterOrUnderPressureAHalfIsLive) {
  const std::uint32_t slot = add(0, 100);
  table_.release(rows_of(slot, {1, 5, 6, 7}), 0);
  std::vector<std::uint32_t> gone;
  for (std::uint32_t n = 10; n < 60; ++n) gone.push_back(n);
  table_.release(rows_of(slot, gone), 0);  // 46 are live
  table_.compact(0);
  EXPECT_EQ(table_[slot].count(), 100U);
  table_.compact_more(0);
  EXPECT_EQ(table_[slot].count(), 46U);
  hand_over(slot, {0, 2, 3, 4, 8, 9}, 0);
  hand_over(slot, {99, 60}, 1);
  EXPECT_EQ(table_.row_of({.block = slot, .ordinal = 61}), 7U);
}

TEST_F(RowTable, ABlockThatIsStillReadIsCompacted) {
  auto block = std::make_unique<Block>();
  const std::uint32_t first = add(0, 100);
  block->rows = table_[first].rows;
  block->row_schema = &schema_;
  const std::uint32_t slot = table_.add(std::move(block));  // its stream goes on
  std::vector<std::uint32_t> gone;
  for (std::uint32_t n = 0; n < 80; ++n) gone.push_back(n);
  table_.release(rows_of(slot, gone), 0);
  table_.compact(0);
  EXPECT_EQ(table_[slot].count(), 20U);
  hand_over(slot, {80, 85, 99}, 0);
  table_.release_rest(slot, 90, 0);
  hand_over(slot, {81, 82, 83, 84, 86, 87, 88, 89}, 0);
}

}  // namespace
}  // namespace forebay::engine
