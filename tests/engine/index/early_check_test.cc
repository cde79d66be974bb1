// SPDX-License-Identifier: Apache-2.0
#include "engine/index/early_check.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/index/index_parallel.h"
#include "engine/program/plan_access.h"
#include "engine/read/file_reader.h"
#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

/// Takes the index of a single file.
TakeIndexes into(std::vector<MadeIndex>& out) {
  return [&out](std::span<const std::uint32_t>, std::span<MadeIndex> made) {
    out.front() = std::move(made.front());
    return Result<void>{};
  };
}

constexpr std::int64_t ids = 3000;  // several blocks

/// A file of examples and a plan over it with two attributes: length(tokens) > 5, id % 3 == 0.
class Early : public ::testing::TestWithParam<Compression> {
 protected:
  void SetUp() override {
    path_ = testing::write_examples(folder_.file("data"), 0, ids, GetParam());
    ASSERT_EQ(path_, folder_.file("data"));
  }

  Plan plan(const std::string& policy = "fail") {
    auto plan = Plan::make(testing::document(
        path_,
        R"({"filter": {"where": "length(tokens) > 5"}}, {"filter": {"where": "id % 3 == 0"}}, {"batch": {"size": 4}})",
        R"(, "epochs": 2, "on_corrupt": ")" + policy + "\""));
    EXPECT_TRUE(plan.ok());
    return *std::move(plan);
  }

  static std::vector<std::int64_t> attributes_of(std::int64_t id) {
    return {id * 7 % 13 > 5 ? 1 : 0, id % 3 == 0 ? 1 : 0};
  }

  /// The attributes of all records of the file but `bad`; a record that is skipped has none.
  static std::vector<std::int64_t> wanted(std::int64_t end, const std::vector<std::int64_t>& bad = {}) {
    std::vector<std::int64_t> out;
    for (std::int64_t id = 0; id < end; ++id) {
      const bool skipped = std::ranges::find(bad, id) != bad.end();
      for (const std::int64_t value : attributes_of(id)) out.push_back(skipped ? 0 : value);
    }
    return out;
  }

  /// The attributes of all records of an index, record after record.
  static std::vector<std::int64_t> values_of(const MadeIndex& made) {
    std::vector<std::int64_t> out;
    for (std::int64_t record = 0; record < made.index->records(); ++record) {
      for (const AttributeColumn& column : made.attributes) out.push_back(column.at(record));
    }
    return out;
  }

  /// The store has the same index, attributes and skips.
  static void expect_stored(const Plan& plan, const MadeIndex& made) {
    const auto stored = load_made(program_of(plan), request_for(program_of(plan).source, 0));
    ASSERT_TRUE(stored);
    EXPECT_EQ(values_of(*stored), values_of(made));
    EXPECT_EQ(stored->attributes[0].owned(), 0) << "it is mapped";
    EXPECT_EQ(stored->size, made.size);
    ASSERT_EQ(stored->skips.size(), made.skips.size());
    for (std::size_t i = 0; i < made.skips.size(); ++i) {
      EXPECT_EQ(stored->skips[i].what, made.skips[i].what);
      EXPECT_EQ(stored->skips[i].bytes, made.skips[i].bytes);
      EXPECT_EQ(stored->skips[i].error.text(), made.skips[i].error.text());
      EXPECT_EQ(stored->skips[i].error.detail(), made.skips[i].error.detail());
    }
  }

  /// The attributes of one scan of the file, and its error.
  std::pair<std::vector<std::int64_t>, std::string> scan(const Program& program) {
    FileReader scanner{program.source, 0, pool_, kept_, corruption_of(program), check_of(program, pool_)};
    std::vector<std::int64_t> out;
    Block block;
    for (bool over = false; !over; over = block.last || block.error) {
      block.clear();
      scanner.scan(block);
      EXPECT_EQ(block.attributes.size(), 2 * block.records.size());
      out.insert(out.end(), block.attributes.begin(), block.attributes.end());
    }
    return {out, block.error ? block.error->text() : ""};
  }

  testing::Folder folder_;
  std::string path_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(std::int64_t{1} << 30);
  PassCache kept_{std::int64_t{1} << 28, true};
};

INSTANTIATE_TEST_SUITE_P(Packing, Early, ::testing::Values(Compression::none, Compression::gzip, Compression::zstd),
                         [](const auto& one) { return std::to_string(static_cast<int>(one.param)); });

TEST_P(Early, EveryPassOverAFileHasTheAttributesOfAllRecords) {
  const Plan plan = this->plan();
  for (int pass = 0; pass < 3; ++pass)  // the later ones over what the first has cached
    EXPECT_EQ(scan(program_of(plan)), (std::pair{wanted(ids), std::string{}}));
}

TEST_P(Early, AnIndexOfTheFileHasThemToo) {
  for (const std::string policy : {"fail", "skip_record", "skip_file"}) {
    const Plan plan = this->plan(policy);
    std::vector<MadeIndex> made(1);
    const std::uint32_t file = 0;
    ASSERT_TRUE(index_in_parallel(
                    program_of(plan), {&file, 1}, {.pool = pool_, .threads = 1}, [] { return true; }, into(made))
                    .ok());
    EXPECT_EQ(made[0].index->records(), ids);
    EXPECT_EQ(values_of(made[0]), wanted(ids));
    EXPECT_GT(made[0].attributes[0].owned(), 0);
    expect_stored(plan, made[0]);
    EXPECT_EQ(made[0].bytes(), std::ssize(made[0].index->image()) + 2 * (16 + ids / 8));
  }
}

TEST_P(Early, MemoryOfAScanIsGivenBack) {
  const Plan plan = this->plan("skip_record");
  static_cast<void>(scan(program_of(plan)));
  EXPECT_EQ(pool_->used(), 0);
}

/// Spoils the checksum of one record of a plain file, and replaces the message of another one.
class EarlyFault : public Early {
 protected:
  void SetUp() override {
    std::vector<std::string> messages;
    for (std::int64_t id = 0; id < ids; ++id) messages.push_back(testing::example_of(id));
    messages[1700] = encode_example({{"id", std::vector<std::int64_t>{1700}}, {"tokens", std::vector<float>{1.0F}}});
    path_ = folder_.file("data");
    ASSERT_TRUE(write_records(path_, messages).ok());
    for (std::size_t i = 0; i < 2000; ++i) offset_ += 16 + static_cast<std::int64_t>(messages[i].size());
    std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(offset_ + 14);
    file.put('\x7f');
  }
  std::int64_t offset_ = 0;  // of record 2000
};

INSTANTIATE_TEST_SUITE_P(Plain, EarlyFault, ::testing::Values(Compression::none));

TEST_P(EarlyFault, TheFirstBadRecordEndsTheScanAfterTheRecordsBeforeIt) {
  const Plan plan = this->plan();
  const auto [attributes, error] = scan(program_of(plan));
  EXPECT_EQ(attributes, wanted(1700));
  EXPECT_THAT(error, ::testing::MatchesRegex(".*data, record 1700, byte [0-9]+, feature 'tokens': .*"));
}

TEST_P(EarlyFault, RecordsThatMayBeSkippedAreSkippedAndTheOthersHaveTheirAttributes) {
  const Plan plan = this->plan("skip_record");
  EXPECT_EQ(scan(program_of(plan)), (std::pair{wanted(ids, {1700, 2000}), std::string{}}));
}

TEST_P(EarlyFault, AnIndexLeavesThemOut) {
  const Plan plan = this->plan("skip_record");
  std::vector<MadeIndex> made(1);
  const std::uint32_t file = 0;
  ASSERT_TRUE(index_in_parallel(
                  program_of(plan), {&file, 1}, {.pool = pool_, .threads = 1}, [] { return true; }, into(made))
                  .ok());
  std::vector<std::int64_t> good;
  for (std::int64_t id = 0; id < ids; ++id) {
    if (id == 1700 || id == 2000) continue;
    for (const std::int64_t value : attributes_of(id)) good.push_back(value);
  }
  EXPECT_EQ(values_of(made[0]), good);
  expect_stored(plan, made[0]);
  EXPECT_EQ(made[0].skips.size(), 2U);
}

}  // namespace
}  // namespace forebay::engine
