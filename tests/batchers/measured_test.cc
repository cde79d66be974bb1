// SPDX-License-Identifier: Apache-2.0
// Batchers that look at lengths, over streams that are interrupted.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/batcher.h>

#include "tests/support/handles.h"

namespace forebay::batchers {
BatcherType frames();
BatcherType buckets();
BatcherType token_budget();
BatcherType packed();
}  // namespace forebay::batchers

namespace forebay {
namespace {

const Error interrupted{Code::cancelled, "interrupted"};

/// The length of an element is its number. Every second question is interrupted.
class Lengths final : public testing::NumberFiles {
 public:
  Lengths() : NumberFiles{{}} {}
  Result<void> attributes(std::size_t, std::span<const Handle> records, std::span<std::int64_t> out) override {
    if (asked_++ % 2 == 0) return interrupted;
    for (std::size_t i = 0; i < records.size(); ++i) out[i] = records[i].block;
    return {};
  }

 private:
  int asked_ = 0;
};

/// Gives at most three elements at once, and is interrupted before each time.
class Halting final : public Handles {
 public:
  explicit Halting(std::vector<std::uint32_t> numbers) : numbers_{std::move(numbers), 3} {}
  void begin(std::int64_t epoch) override { numbers_.begin(epoch); }
  Result<std::size_t> pull(std::span<Handle> out) override {
    if (pulls_++ % 2 == 0) return interrupted;
    return numbers_.pull(out);
  }

 private:
  testing::Numbers numbers_;
  int pulls_ = 0;
};

using Lists = std::vector<std::vector<std::uint32_t>>;

Schema one_tensor() {
  Schema schema;
  schema.put({.name = "x", .dtype = DType::int64, .shape = {unknown_dim}});
  return schema;
}

/// Calls `use` with the rows of each batch. Each call that is interrupted is repeated.
template <class Use>
void each_batch(const BatcherType& type, const char* options, std::vector<std::uint32_t> lengths,
                const std::vector<std::int64_t>& carried, Use use) {
  Lengths reader;
  Halting stream{std::move(lengths)};
  const auto batching = type.bind(*parse_json(options), one_tensor());
  EXPECT_TRUE(batching.ok()) << batching.error().text();
  if (!batching.ok()) return;
  const auto batcher = batching->make({.reader = reader});
  if (!carried.empty()) {
    EXPECT_TRUE(batcher->resume(carried).ok());
    EXPECT_EQ(batcher->carried(), carried);
  }
  std::vector<Handle> elements;
  BatchRows rows{elements};
  while (true) {
    const auto got = batcher->cut(stream, rows);
    if (!got.ok()) continue;
    if (*got == Cut::end_of_pass) return;
    use(rows);
    rows.clear();
  }
}

/// The lengths of the rows of each batch.
Lists batches_of(const BatcherType& type, const char* options, std::vector<std::uint32_t> lengths,
                 const std::vector<std::int64_t>& carried = {}) {
  Lists out;
  each_batch(type, options, std::move(lengths), carried, [&](const BatchRows& rows) {
    out.emplace_back();
    for (const Handle& row : rows.elements()) out.back().push_back(row.block);
  });
  return out;
}

/// The spans of each batch: length of the element, its frames, and where they lie.
std::vector<std::string> spans_of(const BatcherType& type, const char* options, std::vector<std::uint32_t> lengths,
                                  const std::vector<std::int64_t>& carried = {}) {
  std::vector<std::string> out;
  each_batch(type, options, std::move(lengths), carried, [&](const BatchRows& rows) {
    out.push_back(fmt::format("{} rows:", rows.rows()));
    for (const BatchRows::Part& part : rows.parts())
      out.back() +=
          fmt::format(" {}[{},{}) {}@{}", part.element.block, part.start, part.start + part.length, part.row, part.at);
  });
  return out;
}

TEST(FramesBatcher, GoesOnAfterEachInterruption) {
  EXPECT_EQ(batches_of(batchers::frames(), R"({"batch_size": 16})", {5, 3, 8, 2, 9, 1}),
            (Lists{{5, 3}, {8, 2}, {9}, {1}}));
  EXPECT_EQ(batches_of(batchers::frames(), R"({"packed_batch_size": 100, "max_pad_size": 5})", {1, 1, 1, 10}),
            (Lists{{1, 1, 1}, {10}}));
}

TEST(FramesBatcher, BeginsWithTheRowsOfAnEarlierPass) {
  EXPECT_EQ(batches_of(batchers::frames(), R"({"batch_size": 16})", {3, 8, 2}, {1, 5, 5}), (Lists{{3}, {8, 2}}));
  EXPECT_EQ(batches_of(batchers::frames(), R"({"batch_size": 16})", {9, 1}, {1, 5, 5}), (Lists{{}, {9}, {1}}));
}

TEST(FrameRowBatcher, GoesOnAfterEachInterruptionAndWithARowOfAnEarlierPass) {
  const char* const options = R"({"batch_size": 5, "recurrent": false, "max_seqs": 2})";
  EXPECT_EQ(spans_of(batchers::frames(), options, {3, 0, 4, 1, 1, 1, 7}),
            (std::vector<std::string>{"1 rows: 3[0,3) 0@0 4[0,2) 0@3", "1 rows: 4[2,4) 0@0 1[0,1) 0@2",
                                      "1 rows: 1[0,1) 0@0 1[0,1) 0@1", "1 rows: 7[0,5) 0@0", "1 rows: 7[5,7) 0@0"}));
  EXPECT_EQ(spans_of(batchers::frames(), options, {4, 1}, {3, 1}),
            (std::vector<std::string>{"0 rows:", "1 rows: 4[2,4) 0@0 1[0,1) 0@2"}));
}

TEST(BudgetBatcher, GoesOnAfterEachInterruptionAndWithRowsOfAnEarlierPass) {
  EXPECT_EQ(batches_of(batchers::token_budget(), R"({"tokens": 9, "max_rows": 3})", {4, 3, 2, 9, 1, 0, 0, 1}),
            (Lists{{4, 3}, {2}, {9}, {1, 0, 0}, {1}}));
  EXPECT_EQ(batches_of(batchers::token_budget(), R"({"tokens": 9})", {3, 2}, {2, 3}), (Lists{{3}, {2}}));
}

TEST(PackedBatcher, GoesOnAfterEachInterruptionAndWithRowsOfAnEarlierPass) {
  const char* const first = R"({"length": 6, "rows": 2, "gap": 1, "align": 2, "longer": "split"})";
  EXPECT_EQ(spans_of(batchers::packed(), first, {1, 3, 2, 4, 8, 1}),
            (std::vector<std::string>{"2 rows: 1[0,1) 0@0 3[0,3) 0@2 2[0,2) 1@0", "2 rows: 4[0,4) 0@0 8[0,6) 1@0",
                                      "1 rows: 8[6,8) 0@0 1[0,1) 0@4"}));
  const char* const best = R"({"length": 6, "rows": 2, "fit": "best", "remainder": "pad"})";
  EXPECT_EQ(spans_of(batchers::packed(), best, {2, 3, 1, 6}, {1, 3}),
            (std::vector<std::string>{"2 rows:", "2 rows: 6[0,6) 0@0"}))
      << "a restart drops the first batch, and its rows are none that draws may count";
}

TEST(BucketBatcher, GoesOnAfterEachInterruption) {
  const char* const options = R"({"key": "x", "boundaries": [3, 6], "sizes": [2], "longer": "drop"})";
  EXPECT_EQ(batches_of(batchers::buckets(), options, {1, 5, 3, 7, 6, 2}), (Lists{{1, 3}, {5, 6}, {2}}));
}

TEST(BucketBatcher, BeginsWithTheRowsOfAnEarlierPass) {
  EXPECT_EQ(
      batches_of(batchers::buckets(), R"({"key": "x", "boundaries": [3, 6], "sizes": [2, 3]})", {1, 5, 4, 2}, {1, 1}),
      (Lists{{1}, {5, 4}, {2}}));
}

TEST(MeasuredBatcher, RefusesIntegersThatItNeverCarries) {
  Lengths reader;
  const auto refusal = [&](const BatcherType& type, const char* options, std::vector<std::int64_t> carried) {
    const auto done = type.bind(*parse_json(options), one_tensor())->make({reader})->resume(carried);
    return done.ok() ? std::string{} : done.error().text();
  };
  EXPECT_THAT(refusal(batchers::frames(), R"({"batch_size": 16})", {1, 2}),
              ::testing::HasSubstr("has 2 integers, frames of 1 keys have 3"));
  EXPECT_THAT(refusal(batchers::buckets(), R"({"key": "x", "boundaries": [3], "sizes": [2]})", {2}),
              ::testing::HasSubstr("does not fit these buckets"));
  EXPECT_THAT(refusal(batchers::frames(), R"({"batch_size": 5, "recurrent": false})", {5, 1}),
              ::testing::HasSubstr("does not fit rows of 5 frames"));
  EXPECT_THAT(refusal(batchers::token_budget(), R"({"tokens": 5})", {1}),
              ::testing::HasSubstr("does not fit this token budget"));
  EXPECT_THAT(refusal(batchers::packed(), R"({"length": 5, "rows": 2})", {1, 2, 3}),
              ::testing::HasSubstr("does not fit these packed rows"));
}

}  // namespace
}  // namespace forebay
