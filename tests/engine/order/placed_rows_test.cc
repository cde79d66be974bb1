// SPDX-License-Identifier: Apache-2.0
// Batches whose rows are made of spans, with a packing batcher that the test defines.
#include "engine/order/placed_rows.h"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "engine/order/order_plane.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/pack_batcher.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

Json packing(const std::string& file, const std::string& more = "") {
  testing::register_pack();
  return testing::document(file, R"({"test_pack": {"key": "tokens", "frames": 10, "rows": 2}})", more);
}

/// A row for each row of the layout, such as "1[0,7)@0 2[0,3)@7", and what fills the other columns.
std::vector<std::string> rows_of(const BatchLayout& layout) {
  std::vector<std::string> out(static_cast<std::size_t>(layout.rows));
  for (const columns::PlacedSpan& span : layout.taken.spans[0])
    out[static_cast<std::size_t>(span.row)] +=
        fmt::format("{}[{},{})@{} ", layout.record_of(span.element), span.start, span.start + span.length, span.at);
  for (std::size_t row = 0; row < out.size(); ++row) {
    const std::int64_t whole = layout.taken.whole[row];
    out[row] += whole == RowSpans::no_element ? "-" : fmt::format("of {}", layout.record_of(whole));
  }
  return out;
}

struct PackBatch {
  std::vector<std::string> rows;
  std::int64_t epoch = 0;
  bool operator==(const PackBatch&) const = default;
};

std::ostream& operator<<(std::ostream& out, const PackBatch& batch) {
  out << "epoch " << batch.epoch;
  for (const std::string& row : batch.rows) out << " | " << row;
  return out;
}

struct PackRun {
  std::vector<PackBatch> batches;
  std::vector<Position> after;
  std::int64_t pinned = -1;  // bytes of blocks after the last batch
};

PackRun run_packing(const Json& document, const Position& start = {}, const Shard& shard = {}) {
  PackRun out;
  const auto plan = Plan::make(document);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  if (!plan.ok()) return out;
  const auto pool = std::make_shared<BufferPool>(std::int64_t{64} << 20);
  OpenFiles streams{program_of(*plan), pool};
  OrderPlane order{program_of(*plan), streams, start, shard};
  while (true) {
    BatchLayout layout;
    const auto more = order.next(layout);
    EXPECT_TRUE(more.ok()) << more.error().text();
    if (!more.ok() || !*more) break;
    out.batches.push_back({rows_of(layout), layout.epoch});
    out.after.push_back(layout.after);
  }
  streams.collect(INT64_MAX);
  out.pinned = streams.table().pinned_bytes();
  return out;
}

/// Lengths of tokens are 0, 7, 1, 8, 2, 9, 3, 10, … (example_of).
TEST(PlacedRows, HaveSpansOfOneElementInTwoRowsAndInTwoBatches) {
  const testing::Folder folder;
  testing::write_examples(folder.file("a"), 0, 9);
  const PackRun run = run_packing(packing(folder.file("a")));
  EXPECT_EQ(run.batches,
            (std::vector<PackBatch>{{{"1[0,7)@0 2[0,1)@7 3[0,2)@8 of 1", "3[2,8)@0 4[0,2)@6 5[0,2)@8 of 3"}, 0},
                                    {{"5[2,9)@0 6[0,3)@7 of 5", "7[0,10)@0 of 7"}, 0},
                                    {{"8[0,4)@0 of 8", "-"}, 0}}));
}

TEST(PlacedRows, AreRestoredAtEveryBatchOverThreePasses) {
  const testing::Folder folder;
  testing::write_examples(folder.file("a"), 0, 9, Compression::gzip);
  for (const char* const boundary : {"straddle", "hard"}) {
    const Json json = packing(folder.file("a"), R"(, "epochs": 3, "epoch_boundary": ")" + std::string{boundary} + "\"");
    const PackRun whole = run_packing(json);
    EXPECT_GT(whole.batches.size(), 6U);
    EXPECT_EQ(whole.pinned, 0) << "each element was counted off as often as it was held";
    for (std::size_t at = 0; at < whole.after.size(); ++at) {
      const PackRun rest = run_packing(json, whole.after[at]);
      EXPECT_EQ(rest.batches, std::vector<PackBatch>(whole.batches.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                                     whole.batches.end()))
          << boundary << " " << at;
      EXPECT_EQ(rest.pinned, 0);
    }
  }
}

TEST(PlacedRows, AreDividedAmongShards) {
  const testing::Folder folder;
  testing::write_examples(folder.file("a"), 0, 60, Compression::gzip);
  const Json json = packing(folder.file("a"));
  const PackRun whole = run_packing(json);
  std::vector<PackRun> shards;
  for (std::int64_t index = 0; index < 3; ++index)
    shards.push_back(run_packing(json, {}, {.index = index, .count = 3}));
  for (std::size_t at = 0; at < whole.batches.size(); ++at) {
    std::vector<std::string> rows;
    for (const PackRun& shard : shards) {
      ASSERT_EQ(shard.batches.size(), whole.batches.size());
      rows.insert(rows.end(), shard.batches[at].rows.begin(), shard.batches[at].rows.end());
      EXPECT_EQ(shard.pinned, 0);
    }
    EXPECT_EQ(rows, whole.batches[at].rows);
  }
}

TEST(PlacedRows, OfAPlanNameTheirColumns) {
  const testing::Folder folder;
  testing::write_examples(folder.file("a"), 0, 3);
  const auto plan = Plan::make(packing(folder.file("a")));
  ASSERT_TRUE(plan.ok());
  const Taking& taking = *program_of(*plan).taking;
  const Schema& schema = program_of(*plan).schema;
  ASSERT_EQ(taking.cut.size(), 1U);
  EXPECT_EQ(schema[taking.cut[0].from].name, "tokens");
  EXPECT_EQ(schema[taking.cut[0].to].name, "tokens");
  EXPECT_NE(taking.cut[0].to, taking.cut[0].from);
  EXPECT_EQ(taking.whole.size(), 3U);
}

}  // namespace
}  // namespace forebay::engine
