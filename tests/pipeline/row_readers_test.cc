// SPDX-License-Identifier: Apache-2.0
// Rows that readers of the program give, block by block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include <forebay/forebay.h>

#include "tests/engine/order/stream_files.h"
#include "tests/support/how_much.h"
#include "tests/support/resident.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using RowNumbers = std::vector<std::int64_t>;

/// How many rows a generated part has.
struct Generated {
  std::int64_t blocks;
  std::int64_t rows;  // of a block
};

/// Gives blocks of a number that counts and of 64 floats.
class GeneratedReader final : public PartReader {
 public:
  explicit GeneratedReader(Generated size) : size_{size} {}
  Result<Got> read(std::shared_ptr<const RowBlock>& out) override {
    if (given_ == size_.blocks) return Got::end;
    struct Columns {
      RowNumbers n;
      std::vector<float> x;
    };
    auto columns = std::make_shared<Columns>();
    columns->n.resize(static_cast<std::size_t>(size_.rows));
    std::iota(columns->n.begin(), columns->n.end(), given_ * size_.rows);
    for (const std::int64_t n : columns->n) columns->x.insert(columns->x.end(), 64, static_cast<float>(n));
    auto block = std::make_shared<RowBlock>();
    block->rows = size_.rows;
    block->columns = {{.data = reinterpret_cast<const std::byte*>(columns->n.data()), .row_stride = 8},
                      {.data = reinterpret_cast<const std::byte*>(columns->x.data()), .row_stride = 256}};
    block->owner = columns;
    out = block;
    ++given_;
    return Got::rows;
  }

 private:
  const Generated size_;
  std::int64_t given_ = 0;
};

Bindings generated_rows(Generated size) {
  auto source = std::make_shared<RowSource>();
  source->schema.put({.name = "n", .dtype = DType::int64, .shape = {}});
  source->schema.put({.name = "x", .dtype = DType::float32, .shape = {64}});
  source->parts.push_back({.name = "generated", .open = [size](const ReadContext&) {
                             return Result<std::unique_ptr<PartReader>>{std::make_unique<GeneratedReader>(size)};
                           }});
  return {{"in", source}};
}

Json over_readers(const std::string& steps, const std::string& rest = "") {
  return testing::parse(R"({"source": {"feed": {"bind": "in"}}, "steps": [)" + steps + "]" + rest + "}");
}

// Without compaction, a block would stay in memory until the last of its rows was drawn: 1 GiB of them.
TEST(RowReaders, AShuffleBufferOverManyBlocksStaysWithinTheBudget) {
  constexpr std::int64_t allowed = std::int64_t{96} << 20;
  constexpr std::int64_t rows = 1'000'000;
  const Json document = over_readers(R"({"shuffle": {"buffer": 100000}}, {"batch": {"size": 500}})");
  for (const std::int64_t blocks : {10'000, 100}) {
    auto loader = load(document, {.threads = 2, .memory = allowed}, ".",
                       generated_rows({.blocks = blocks, .rows = rows / blocks}));
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const std::int64_t before = tests::resident_bytes();
    std::int64_t most = 0;
    std::vector<bool> seen(static_cast<std::size_t>(rows));
    std::int64_t moved = 0;
    for (const Batch& batch : loader->batches()) {
      const auto n = batch.tensor("n").as<std::int64_t>();
      const auto x = batch.tensor("x").as<float>();
      for (std::size_t row = 0; row < n.size(); ++row) {
        ASSERT_FALSE(seen[static_cast<std::size_t>(n[row])]);
        seen[static_cast<std::size_t>(n[row])] = true;
        ASSERT_EQ(x[64 * row], static_cast<float>(n[row]));
        ASSERT_EQ(x[64 * row + 63], static_cast<float>(n[row]));
        ASSERT_EQ(batch.origin(static_cast<std::int64_t>(row)).record, n[row]);
        moved += n[row] != batch.number() * 500 + static_cast<std::int64_t>(row) ? 1 : 0;
      }
      if (batch.number() % 20 == 0) most = std::max(most, tests::resident_bytes() - before);
    }
    ASSERT_TRUE(loader->status().ok()) << loader->status().error().text();
    EXPECT_EQ(std::ranges::count(seen, true), rows);
    EXPECT_GT(moved, rows / 2);
    RecordProperty("MiB of " + std::to_string(blocks) + " blocks", static_cast<int>(most >> 20));
    if (!tests::sanitized) {
      EXPECT_LT(most, allowed + (std::int64_t{64} << 20)) << blocks << " blocks";
    }
  }
}

TEST(RowReaders, RowsThatDoNotFitTheBudgetAreAnErrorWithTheirBytes) {
  auto loader = load(over_readers(R"({"shuffle": {"buffer": 100000}}, {"batch": {"size": 500}})"),
                     {.threads = 2, .memory = 16 << 20}, ".", generated_rows({.blocks = 1000, .rows = 100}));
  std::optional<Error> error;
  for (auto batch = loader->next(); !error && (!batch.ok() || *batch); batch = loader->next()) {
    if (!batch.ok()) error = batch.error();
  }
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->detail(), Detail::resource_exhausted);
  EXPECT_THAT(error->text(), HasSubstr("the rows that wait for their turn hold "));
}

std::shared_ptr<const RowSource> rows_of_numbers(const RowNumbers& values) {
  return *array_rows({{.name = "n", .dtype = DType::int64, .shape = {std::ssize(values)}, .data = values.data()}},
                     nullptr);
}

Feed feed_of_numbers(std::int64_t capacity = 1024) {
  Schema schema;
  schema.put({.name = "n", .dtype = DType::int64, .shape = {}});
  return *Feed::make(schema, capacity);
}

TEST(RowReaders, AnInterleaveGoesOnWithAnotherFeedWhileOneIsEmpty) {
  using std::chrono::seconds;
  Feed idle = feed_of_numbers();
  Feed busy = feed_of_numbers();
  auto both = std::make_shared<RowSource>(*idle.source("idle"));
  both->parts.push_back(busy.source("busy")->parts.front());
  auto loader = load(over_readers(R"({"interleave": {"cycle": 2, "sloppy": true}}, {"batch": {"size": 2}})",
                                  R"(, "deterministic": false)"),
                     {.threads = 2}, ".", {{"in", both}});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  for (std::int64_t round = 0; round < 3; ++round) {
    const RowNumbers values{10 * round, 10 * round + 1};
    ASSERT_TRUE(*busy.put(*rows_of_numbers(values), seconds{1}));
    bool timed_out = false;
    const auto batch = loader->next_within(seconds{20}, timed_out);
    ASSERT_TRUE(batch.ok() && *batch) << round;
    EXPECT_THAT((*batch)->tensor("n").as<std::int64_t>(), ::testing::ElementsAreArray(values));
  }
  const RowNumbers last{100, 101};
  ASSERT_TRUE(*idle.put(*rows_of_numbers(last), seconds{1}));
  busy.close();
  idle.close();
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch);
  EXPECT_THAT((*batch)->tensor("n").as<std::int64_t>(), ElementsAre(100, 101));
  EXPECT_FALSE(*loader->next());
}

TEST(RowReaders, APutWaitsUntilThereIsRoomForAllItsRows) {
  using std::chrono::milliseconds;
  Feed feed = feed_of_numbers(10);
  const auto put = [&](std::size_t rows) { return *feed.put(*rows_of_numbers(RowNumbers(rows)), milliseconds{10}); };
  EXPECT_TRUE(put(25)) << "more than the capacity: taken whole, because no row waits";
  EXPECT_EQ(feed.waiting(), 25);
  EXPECT_FALSE(put(1));
  EXPECT_EQ(feed.waiting(), 25) << "nothing was taken";
  const auto source = feed.source();
  const auto reader = source->parts.front().open({.wake = [] {}});
  std::shared_ptr<const RowBlock> taken;
  ASSERT_EQ(*(*reader)->read(taken), PartReader::Got::rows);
  EXPECT_EQ(taken->rows, 25);
  EXPECT_TRUE(put(5));
  EXPECT_FALSE(put(6));
  EXPECT_TRUE(put(0));
  EXPECT_EQ(feed.waiting(), 5);
}

// ---------------------------------------------------------------- filters

/// 300 rows in memory: n counts, name is "a" or "b" and the number.
class Named {
 public:
  Named() : n_(300) {
    std::iota(n_.begin(), n_.end(), 0);
    splits_.push_back(0);
    for (const std::int64_t n : n_) {
      names_ += (n % 4 == 0 ? "a" : "b") + std::to_string(n);
      splits_.push_back(static_cast<std::int64_t>(names_.size()));
    }
  }
  [[nodiscard]] Bindings bindings() const {
    return {
        {"in",
         *array_rows(
             {{.name = "n", .dtype = DType::int64, .shape = {300}, .data = n_.data()},
              {.name = "name", .dtype = DType::string, .shape = {300}, .data = names_.data(), .byte_splits = splits_}},
             nullptr)}};
  }

 private:
  RowNumbers n_, splits_;
  std::string names_;
};

Json over_arrays(const std::string& steps, const std::string& rest = "") {
  return testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [)" + steps + "]" + rest + "}");
}

RowNumbers numbers(Loader& loader, std::string* error = nullptr) {
  RowNumbers out;
  for (const Batch& batch : loader.batches()) {
    const auto n = batch.tensor("n").as<std::int64_t>();
    out.insert(out.end(), n.begin(), n.begin() + batch.valid_rows());
  }
  if (error != nullptr) *error = loader.status().ok() ? "" : loader.status().error().text();
  return out;
}

TEST(RowFilter, OfArraysBeforeAndAfterShufflesKeepsTheRowsWhoseConditionHolds) {
  const Named rows;
  RowNumbers expected;
  for (std::int64_t n = 0; n < 300; ++n) {
    if (n % 4 == 0 && n > 50) expected.push_back(n);
  }
  const std::string filter = R"({"filter": {"where": "startswith(name, 'a') and n > 50"}})";
  const std::string batch = R"({"batch": {"size": 16}})";
  const std::string global = R"({"shuffle": {"global": true}})";
  const std::string buffer = R"({"shuffle": {"buffer": 40}})";
  const std::string between = R"({"filter": {"where": "n > 50"}}, {"shuffle": {"buffer": 9}}, )"
                              R"({"filter": {"where": "startswith(name, 'a') and true"}})";
  for (const std::string& order :
       {filter, filter + ", " + buffer, buffer + ", " + filter, global + ", " + filter, global + ", " + between}) {
    const Json document = over_arrays(order + ", " + batch, R"(, "epochs": 2)");
    RowNumbers whole;
    for (const std::int64_t threads : {1, 8}) {
      auto loader = load(document, {.threads = threads}, ".", rows.bindings());
      ASSERT_TRUE(loader.ok()) << loader.error().text();
      std::string error;
      const RowNumbers got = numbers(*loader, &error);
      ASSERT_EQ(error, "");
      if (threads == 1) whole = got;
      ASSERT_EQ(got, whole) << order;
    }
    ASSERT_EQ(whole.size(), 2 * expected.size());
    for (const auto begin : {whole.begin(), whole.begin() + std::ssize(expected)}) {
      RowNumbers epoch(begin, begin + std::ssize(expected));
      if (order == filter) {
        EXPECT_EQ(epoch, expected);
      }
      std::sort(epoch.begin(), epoch.end());
      EXPECT_EQ(epoch, expected);
    }
    auto first = load(document, {.threads = 1}, ".", rows.bindings());
    for (std::size_t given = 0;;) {
      auto second = load(document, {.threads = 3}, ".", rows.bindings());
      ASSERT_TRUE(second->restore(*first->state()).ok());
      ASSERT_EQ(numbers(*second), RowNumbers(whole.begin() + static_cast<std::ptrdiff_t>(given), whole.end()));
      const auto next = first->next();
      ASSERT_TRUE(next.ok());
      if (!*next) break;
      given += static_cast<std::size_t>((*next)->valid_rows());
    }
  }
}

TEST(RowFilter, SeesWhatTheStepsBeforeItMake) {
  const Named rows;
  auto loader = load(over_arrays(R"({"cast": {"tensor": "n", "dtype": "bool"}}, {"filter": {"where": "n"}},
                                    {"batch": {"size": 1000}})"),
                     {}, ".", rows.bindings());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
  EXPECT_EQ((*batch)->valid_rows(), 299);
  EXPECT_EQ((*batch)->origin(0).record, 1) << "row 0 alone is false";
}

TEST(RowFilter, ThatFailsForARowNamesIt) {
  const Named rows;
  auto loader = load(over_arrays(R"({"filter": {"where": "100 // (n - 30) != 7"}}, {"batch": {"size": 16}})"), {}, ".",
                     rows.bindings());
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::string error;
  EXPECT_EQ(numbers(*loader, &error).size(), 16U) << "the batch before it comes first";
  EXPECT_THAT(error, HasSubstr("arrays"));
  EXPECT_THAT(error, HasSubstr("30"));
  EXPECT_THAT(error, HasSubstr("filter"));
}

TEST(RowFilter, OfAFeedBeforeAndAfterABufferKeepsTheRowsWhoseConditionHolds) {
  Feed feed = feed_of_numbers();
  RowNumbers values(1000);
  std::iota(values.begin(), values.end(), 0);
  ASSERT_TRUE(*feed.put(*rows_of_numbers(values), std::chrono::seconds{1}));
  feed.close();
  auto loader = load(over_readers(R"({"filter": {"where": "n % 10 < 5"}}, {"shuffle": {"buffer": 100}},
                                     {"filter": {"where": "n % 2 == 1"}}, {"batch": {"size": 16}})"),
                     {}, ".", {{"in", feed.source()}});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  RowNumbers got = numbers(*loader);
  std::sort(got.begin(), got.end());
  RowNumbers expected;
  for (const std::int64_t n : values) {
    if (n % 10 == 1 || n % 10 == 3) expected.push_back(n);
  }
  EXPECT_EQ(got, expected);
}

// The filter stands after a buffer, so it looks at rows of blocks that were compacted.
TEST(RowFilter, SeesTheRightRowsOfBlocksThatWereCompacted) {
  auto loader = load(over_readers(R"({"shuffle": {"buffer": 50000}}, {"filter": {"where": "n % 7 == 3"}},
                                     {"batch": {"size": 500}})"),
                     {.threads = 2, .memory = 48 << 20}, ".", generated_rows({.blocks = 300, .rows = 1000}));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  std::string error;
  RowNumbers got = numbers(*loader, &error);
  EXPECT_EQ(error, "");
  std::sort(got.begin(), got.end());
  RowNumbers expected;
  for (std::int64_t n = 3; n < 300'000; n += 7) expected.push_back(n);
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace forebay
