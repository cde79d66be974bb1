// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/handles.h"

namespace forebay::batchers {
BatcherType batch();
}  // namespace forebay::batchers

namespace forebay {
namespace {

struct Rows {
  std::vector<std::uint32_t> records;
  std::int64_t rows;
  bool operator==(const Rows&) const = default;
};

/// All batches of `n` elements.
std::vector<Rows> cuts(Json options, std::uint32_t n, std::size_t* dropped = nullptr) {
  testing::NumberFiles reader{{}};
  testing::Numbers numbers{testing::first(n), 3};
  auto batching = batchers::batch().bind(options, Schema{});
  if (!batching.ok()) return {};
  auto batcher = batching->make({reader});
  std::vector<Rows> out;
  while (true) {
    std::vector<Handle> elements;
    BatchRows rows{elements};
    const auto got = batcher->cut(numbers, rows);
    if (!got.ok() || *got == Cut::end_of_pass) break;
    Rows batch{{}, rows.rows()};
    for (const Handle& row : rows.elements()) batch.records.push_back(row.block);
    out.push_back(std::move(batch));
  }
  if (dropped != nullptr) *dropped = reader.dropped;
  return out;
}

Json options(const char* remainder) { return Json::object({{"size", 4}, {"remainder", remainder}}); }

TEST(Batch, KeepDeliversTheLastBatchShort) {
  EXPECT_EQ(cuts(options("keep"), 6), (std::vector<Rows>{{{0, 1, 2, 3}, 4}, {{4, 5}, 2}}));
}

TEST(Batch, DropLeavesTheLastBatchOutAndHandsItsRecordsBack) {
  std::size_t dropped = 0;
  EXPECT_EQ(cuts(options("drop"), 6, &dropped), (std::vector<Rows>{{{0, 1, 2, 3}, 4}}));
  EXPECT_EQ(dropped, 2U);
}

TEST(Batch, PadFillsTheLastBatchUpWithRowsWithoutRecords) {
  EXPECT_EQ(cuts(options("pad"), 6), (std::vector<Rows>{{{0, 1, 2, 3}, 4}, {{4, 5}, 4}}));
}

TEST(Batch, AMultipleOfTheSizeLeavesNoRemainder) { EXPECT_EQ(cuts(options("keep"), 8), cuts(options("drop"), 8)); }

/// Counts the bytes that are charged.
class ChargedReader final : public testing::NumberFiles {
 public:
  ChargedReader() : NumberFiles{{}} {}
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override {
    charged += bytes;
    return std::shared_ptr<void>{this,
                                 [bytes](void* reader) { static_cast<ChargedReader*>(reader)->charged -= bytes; }};
  }
  std::int64_t charged = 0;
};

/// Notes the bytes that are charged when it is pulled.
class Watching final : public Handles {
 public:
  Watching(Handles& numbers, const ChargedReader& reader) : numbers_{numbers}, reader_{reader} {}
  void begin(std::int64_t epoch) override { numbers_.begin(epoch); }
  Result<std::size_t> pull(std::span<Handle> out) override {
    seen.push_back(reader_.charged);
    return numbers_.pull(out);
  }
  std::vector<std::int64_t> seen;

 private:
  Handles& numbers_;
  const ChargedReader& reader_;
};

TEST(Batch, TheRoomOfALargeBatchIsChargedWhileItIsCut) {
  ChargedReader reader;
  testing::Numbers numbers{testing::first(10'000), 4096};
  Watching watched{numbers, reader};
  const auto batcher = batchers::batch().bind(Json::object({{"size", 10'000}}), Schema{})->make({reader});
  std::vector<Handle> elements;
  BatchRows rows{elements};
  ASSERT_EQ(*batcher->cut(watched, rows), Cut::batch);
  ASSERT_EQ(rows.rows(), 10'000);
  EXPECT_EQ(watched.seen, (std::vector<std::int64_t>{0, 8192 * bytes_a_row, 10'000 * bytes_a_row}));
  EXPECT_EQ(reader.charged, 0);  // the engine counts the rows of the batch from here on
}

TEST(Batch, PadDimensionsMustMatchTheRankOfTheTensor) {
  Schema schema;
  schema.put({.name = "x", .dtype = DType::int64, .shape = {unknown_dim}});
  Json entry = Json::object({{"tensor", "x"}, {"shape", Json::array({Json{1}, Json{2}})}});
  const auto bound = batchers::batch().bind(Json::object({{"size", 2}, {"pad", Json::array({entry})}}), schema);
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().text(), ::testing::HasSubstr("expected 1 pad dimensions for tensor x, got 2"));
}

TEST(Batch, EveryWrongPadEntryIsNamed) {
  Schema schema;
  schema.put({.name = "x", .dtype = DType::int64, .shape = {unknown_dim}});
  const auto json = parse_json(R"({"size": 2, "pad": [{"tensor": "z"}, {"tensor": "x", "shape": [1, 2]}, {"shape": [1]},
    {"tensor": "x", "shapes": [3]}, {"tensor": "x", "shape": [4]}]})");
  const auto bound = batchers::batch().bind(*json, schema);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(
      bound.error().text(),
      "4 faults:\n"
      "  line 1:32, /pad/0/tensor: there is no tensor 'z'; did you mean 'x'? defined here: x\n"
      "  line 1:63, /pad/1/shape: expected 1 pad dimensions for tensor x, got 2\n"
      "  line 1:72, /pad/2: missing required option 'tensor'\n"
      "  line 2:31, /pad/3/shapes: unexpected option 'shapes'; did you mean 'shape'? known here: tensor, shape, value");
}

}  // namespace
}  // namespace forebay
