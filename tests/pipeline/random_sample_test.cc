// SPDX-License-Identifier: Apache-2.0
// Draws with replacement in whole runs.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"
#include "tests/support/jpeg.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::kept;
using testing::parse;
using testing::rest;
using testing::resumed;
using Times = std::map<std::int64_t, int>;

Json sample_document(const Folder& folder, const std::string& steps, const std::string& more = "") {
  return testing::document(folder.file("part-*"), steps, more);
}

/// How often each record comes.
Times times_of(const Json& json, const RunOptions& options = {.threads = 2}) {
  Times out;
  auto loader = load(json, options);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  while (loader.ok()) {
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) break;
    for (const std::int64_t id : (*batch)->tensor("id").as<std::int64_t>()) ++out[id];
  }
  return out;
}

std::int64_t draws_of(const Times& times) {
  std::int64_t out = 0;
  for (const auto& [id, count] : times) out += count;
  return out;
}

TEST(RandomSample, DrawsUniformlyFromAllRecords) {
  const Folder folder;
  testing::write_five(folder);  // 306 records
  for (const std::string options : {R"({"size": 30600})", R"({"size": 30600, "buffer": 306})"}) {
    const Times times = times_of(
        sample_document(folder, R"({"random_sample": )" + std::string{options} + R"(}, {"batch": {"size": 100}})"));
    EXPECT_EQ(draws_of(times), 30600) << options;
    ASSERT_EQ(times.size(), 306U) << options;
    double chi_square = 0;
    for (const auto& [id, count] : times) chi_square += (count - 100.0) * (count - 100.0) / 100.0;
    EXPECT_GT(chi_square, 200) << options << ": 305 on average, with a deviation of 25";
    EXPECT_LT(chi_square, 430) << options;
  }
}

TEST(RandomSample, ABufferGivesEachElementOnceOnAverage) {
  const Folder folder;
  testing::write_five(folder);
  const Json json =
      sample_document(folder, R"({"random_sample": {"buffer": 40}}, {"batch": {"size": 100}})", R"(, "epochs": 100)");
  const Times times = times_of(json);
  EXPECT_EQ(draws_of(times), 30600);
  ASSERT_EQ(times.size(), 306U);
  for (const auto& [id, count] : times) {  // the variance of one pass is 2 to 3: draws while an element is there
    EXPECT_GT(count, 30) << id;
    EXPECT_LT(count, 190) << id;
  }
}

TEST(RandomSample, OfNothingIsNothing) {
  const Folder folder;
  testing::write_parts(folder, {0}, {1, 1});
  for (const std::string options : {"{}", R"({"size": 5})", R"({"buffer": 3})", R"({"buffer": 3, "size": 5})"}) {
    EXPECT_EQ(times_of(sample_document(folder, R"({"random_sample": )" + options + R"(}, {"batch": {"size": 2}})")),
              Times{});
  }
}

const std::vector<std::string>& samples() {
  static const std::vector<std::string> all{
      R"({"random_sample": {}}, {"batch": {"size": 12}})",
      R"({"filter": {"where": "id % 3 != 1"}}, {"random_sample": {"size": 250}}, {"shuffle": {"buffer": 20}},
         {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"random_sample": {"buffer": 30}}, {"batch": {"size": 12}})",
      R"({"interleave": {"cycle": 3}}, {"random_sample": {"buffer": 20, "size": 400}}, {"shuffle": {"buffer": 7}},
         {"filter": {"where": "length(tokens) > 2"}}, {"batch": {"size": 12, "remainder": "repeat"}})",
      R"({"shuffle": {"global": true}}, {"random_sample": {"buffer": 50}}, {"batch": {"size": 12}},
         {"shuffle_batches": {"buffer": 4}})"};
  return all;
}

class SampleRestart : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SampleRestart, AtEveryBatchGivesTheRestOfTheUnbrokenRun) {
  const Folder folder;
  testing::write_five(folder);
  for (const std::string& boundary : testing::boundaries()) {
    const Json json = sample_document(folder, samples()[GetParam()], boundary);
    auto loader = load(json, {.threads = 1});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const auto [all, states] = testing::whole_run(*loader);
    ASSERT_THAT(all, ::testing::Each(::testing::Not(HasSubstr("error"))));
    ASSERT_GT(all.size(), 40U);
    auto eight = load(json, {.threads = 8});
    EXPECT_EQ(rest(*eight), all);
    for (std::size_t i = 0; i < states.size(); ++i) {
      auto again = resumed(json, states[i], {.threads = i % 2 == 0 ? 8 : 1});
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(rest(*again), std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end())) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, SampleRestart, ::testing::Range(std::size_t{0}, samples().size()));

TEST(RandomSample, ShardsTogetherHaveTheDrawsOfTheWholeRun) {
  const Folder folder;
  testing::write_five(folder);
  for (const std::string options : {R"({"size": 360})", R"({"size": 360, "buffer": 30})"}) {
    const Json json = sample_document(
        folder, R"({"random_sample": )" + std::string{options} + R"(}, {"batch": {"size": 12, "remainder": "drop"}})");
    const Times whole = times_of(json);
    for (const ShardBy by : {ShardBy::row, ShardBy::element, ShardBy::batch}) {
      Times dealt;
      for (std::int64_t rank = 0; rank < 3; ++rank) {
        const RunOptions options_of{.threads = 2, .shard_index = rank, .shard_count = 3, .shard_by = by};
        for (const auto& [id, count] : times_of(json, options_of)) dealt[id] += count;
      }
      EXPECT_EQ(dealt, whole) << options << static_cast<int>(by);
    }
  }
}

std::string body_of(std::int64_t id) {
  std::string out(2000, ' ');
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>('a' + (static_cast<std::size_t>(id) + i) % 26);
  return std::to_string(id) + out;
}

// Its blocks are compacted: records that were given once are still in the buffer.
TEST(RandomSample, RecordsOfCompactedBlocksStayTheSame) {
  constexpr std::int64_t records = 16'000;
  const Folder folder;
  std::vector<std::string> messages;
  for (std::int64_t id = 0; id < records; ++id) {
    messages.push_back(
        encode_example({{"id", std::vector<std::int64_t>{id}}, {"body", std::vector<std::string>{body_of(id)}}}));
  }
  ASSERT_TRUE(write_records(folder.file("a"), messages, Compression::gzip).ok());
  const Json json = parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a") +
                          R"("]}}, "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
                             "body": {"dtype": "string", "shape": []}}}},
                          "steps": [{"random_sample": {"buffer": 3000}}, {"batch": {"size": 100}}], "seed": 2})");
  std::vector<Times> runs;
  for (const std::int64_t memory : {std::int64_t{32} << 20, std::int64_t{512} << 20}) {
    auto loader = load(json, {.threads = 2, .memory = memory});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    Times& times = runs.emplace_back();
    for (const Batch& batch : loader->batches()) {
      const auto ids = batch.tensor("id").as<std::int64_t>();
      for (std::size_t row = 0; row < ids.size(); ++row) {
        ASSERT_EQ(batch.tensor("body").string(static_cast<std::int64_t>(row)), body_of(ids[row]));
        ++times[ids[row]];
      }
    }
    ASSERT_TRUE(loader->status().ok()) << loader->status().error().text();
    EXPECT_EQ(draws_of(times), records);
    EXPECT_LT(times.size(), 12'000U) << "some came several times";
  }
  EXPECT_EQ(runs[0], runs[1]);
}

/// Rows that are made while they are read, and say their number in every element.
class NumberedReader final : public PartReader {
 public:
  Result<Got> read(std::shared_ptr<const RowBlock>& out) override {
    constexpr std::int64_t rows = 100, wide = 512;
    if (next_ == 40'000) return Got::end;
    auto values = std::make_shared<std::vector<std::int64_t>>();
    for (std::int64_t row = 0; row < rows; ++row) values->insert(values->end(), wide, next_ + row);
    auto block = std::make_shared<RowBlock>();
    block->rows = rows;
    block->columns.push_back({.data = reinterpret_cast<const std::byte*>(values->data()), .row_stride = wide * 8});
    block->owner = values;
    next_ += rows;
    out = block;
    return Got::rows;
  }

 private:
  std::int64_t next_ = 0;
};

TEST(RandomSample, RowsOfCompactedRowBlocksStayTheSame) {
  auto source = std::make_shared<RowSource>();
  source->schema.put({.name = "n", .dtype = DType::int64, .shape = Shape{512}});
  source->parts.push_back({.name = "numbers", .open = [](const ReadContext&) {
                             return Result<std::unique_ptr<PartReader>>{std::make_unique<NumberedReader>()};
                           }});
  const Json json = parse(R"({"source": {"feed": {"bind": "in"}}, "steps": [{"random_sample": {"buffer": 4000}},
                              {"batch": {"size": 50}}]})");
  auto loader = load(json, {.threads = 2, .memory = 48 << 20}, ".", {{"in", source}});  // the rows have 160 MiB
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::set<std::int64_t> seen;
  std::int64_t rows = 0;
  for (const Batch& batch : loader->batches()) {
    const auto n = batch.tensor("n").as<std::int64_t>();
    for (std::int64_t row = 0; row < batch.rows(); ++row, ++rows) {
      const std::int64_t number = batch.origin(row).record;
      seen.insert(number);
      for (const std::size_t at : {0U, 511U}) ASSERT_EQ(n[static_cast<std::size_t>(row) * 512 + at], number);
    }
  }
  ASSERT_TRUE(loader->status().ok()) << loader->status().error().text();
  EXPECT_EQ(rows, 40'000);
  EXPECT_LT(seen.size(), 30'000U);
}

// Batches of 7 over passes of 15 draws: most straddle, and the draws of their rows are those of the pass of each row.
TEST(RandomSample, DrawsOfStraddlingBatchesAreTheSameAfterARestartInsideThem) {
  const Folder folder;
  std::vector<std::string> messages;
  for (std::int64_t id = 0; id < 10; ++id) {
    messages.push_back(encode_example({{"id", std::vector<std::int64_t>{id}},
                                       {"image", std::vector<std::string>{test::jpeg_of(
                                                     test::picture(40, 35, 3, static_cast<std::uint32_t>(id)))}}}));
  }
  ASSERT_TRUE(write_records(folder.file("a"), messages, Compression::gzip).ok());
  for (const std::string options : {R"({"size": 15})", R"({"size": 15, "buffer": 4})"}) {
    const Json json = parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a") +
                            R"("]}}, "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
                               "image": {"dtype": "string", "shape": []}}}},
                            "steps": [{"random_sample": )" +
                            options + R"(}, {"decode_image": {"tensor": "image", "region": {"random_resized":
                               {"scale": [0.2, 1]}}, "resize": [16, 12]}}, {"batch": {"size": 7}}],
                            "epochs": 4, "seed": 3})");
    auto loader = load(json, {.threads = 1});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    std::vector<Json> states;
    std::vector<std::string> all;
    std::map<std::int64_t, std::vector<std::string>> looks;
    while (true) {
      states.push_back(kept(*loader));
      auto batch = loader->next();
      ASSERT_TRUE(batch.ok()) << batch.error().text();
      if (!*batch) break;
      all.push_back(testing::text_of(**batch));
      const Tensor& image = (*batch)->tensor("image");
      const std::size_t bytes = 16 * 12 * 3;
      for (std::size_t row = 0; row < static_cast<std::size_t>((*batch)->rows()); ++row) {
        looks[(*batch)->tensor("id").as<std::int64_t>()[row]].emplace_back(
            reinterpret_cast<const char*>(image.data) + row * bytes, bytes);
      }
    }
    ASSERT_EQ(all.size(), 9U) << "60 draws";
    for (const auto& [id, some] : looks) EXPECT_EQ(std::set(some.begin(), some.end()).size(), some.size()) << id;
    for (std::size_t i = 0; i < states.size(); ++i) {
      auto again = resumed(json, states[i], {.threads = i % 2 == 0 ? 8 : 3});
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_TRUE(rest(*again) == std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end())) << options << i;
    }
  }
}

}  // namespace
}  // namespace forebay
