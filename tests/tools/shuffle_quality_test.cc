// SPDX-License-Identifier: Apache-2.0
#include "tools/shuffle_quality.h"

#include <cmath>

#include <gtest/gtest.h>

#include <forebay/forebay.h>

#include "tests/plan/documents.h"

namespace forebay::engine {
namespace {

using Order = std::vector<std::pair<std::uint32_t, std::int64_t>>;

ShuffleQuality quality_of(const std::vector<std::int64_t>& counts, const Order& order) {
  ShuffleMeasure measure{counts};
  for (const auto& [file, record] : order) measure.add(file, record);
  return measure.result();
}

TEST(ShuffleMeasure, FileOrderIsNotDisplaced) {
  const ShuffleQuality quality = quality_of({2, 0, 2}, {{0, 0}, {0, 1}, {2, 0}, {2, 1}});
  EXPECT_EQ(std::make_pair(quality.rows, quality.files), std::make_pair(std::int64_t{4}, std::int64_t{3}));
  EXPECT_EQ(std::make_pair(quality.displacement, quality.of_uniform), std::make_pair(0.0, 0.0));
  EXPECT_DOUBLE_EQ(*quality.file_correlation, 0.5);  // of 0 0 2 with 0 2 2
}

TEST(ShuffleMeasure, ReversedOrderIsHalfAsMuchAgainAsUniform) {
  const ShuffleQuality quality = quality_of({4}, {{0, 3}, {0, 2}, {0, 1}, {0, 0}});
  EXPECT_DOUBLE_EQ(quality.displacement, (3 + 1 + 1 + 3) / 4.0 / 4.0);
  EXPECT_DOUBLE_EQ(quality.of_uniform, 0.5 / (15 / 48.0));
  EXPECT_EQ(quality.file_correlation, std::nullopt);  // one file
}

TEST(ShuffleMeasure, AlternatingFilesAreNegativelyCorrelated) {
  const ShuffleQuality quality = quality_of({3, 3}, {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}});
  EXPECT_DOUBLE_EQ(*quality.file_correlation, -1.0);
}

TEST(ShuffleMeasure, NoRowsAndOneRowHaveNothingToShuffle) {
  for (const Order& order : {Order{}, Order{{0, 0}}}) {
    const ShuffleQuality quality = quality_of({1}, order);
    EXPECT_EQ(quality.displacement, 0.0);
    EXPECT_EQ(quality.file_correlation, std::nullopt);
  }
}

TEST(Correlation, FarFromZeroLosesNoDigits) {
  Correlation correlation;
  for (int i = 0; i < 1000; ++i) correlation.add(1e9 + i % 7, 1e9 - i % 7);
  EXPECT_NEAR(*correlation.value(), -1.0, 1e-12);
}

TEST(Tools, LookAtRowsOnlyWhereTheyNeedNoFile) {
  const std::vector<std::int64_t> numbers{1, 2, 3, 4};
  const Bindings bindings{
      {"in", *array_rows({{.name = "n", .dtype = DType::int64, .shape = {4}, .data = numbers.data()}}, nullptr)}};
  const auto document = parse_json(R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"batch": {"size": 2}}]})");
  const auto plan = Plan::make(*document, ".", bindings);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const auto quality = shuffle_quality(*plan);
  ASSERT_TRUE(quality.ok()) << quality.error().text();
  EXPECT_EQ(std::make_pair(quality->rows, quality->displacement), std::make_pair(std::int64_t{4}, 0.0));
  const std::string fault =
      "the rows of this plan are arrays, in memory or in files, or are given by the program, and no records: ";
  EXPECT_EQ(verify(*plan).error().message(), fault + "they have no checksums to verify");
  EXPECT_EQ(index_files(*plan).error().message(), fault + "no index is needed");
}

TEST(Tools, MeasureTheShuffleOfMoreWholeFilesThanAPartHas) {
  const forebay::testing::Folder folder;
  std::string files;
  for (int i = 0; i < 4200; ++i) {
    const std::string name = std::to_string(i);
    folder.write(name, name);
    files += (i == 0 ? "\"" : ", \"") + name + "\"";
  }
  const auto document = parse_json(R"({"source": {"whole_file": {"files": [)" + files +
                                   R"(]}}, "decode": {"record": {}}, "steps": [{"batch": {"size": 100}}]})");
  const auto plan = Plan::make(*document, folder.path());
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const auto quality = shuffle_quality(*plan);
  ASSERT_TRUE(quality.ok()) << quality.error().text();
  EXPECT_EQ(std::make_pair(quality->rows, quality->files), std::make_pair(std::int64_t{4200}, std::int64_t{4200}));
  EXPECT_EQ(quality->displacement, 0.0);
}

}  // namespace
}  // namespace forebay::engine
