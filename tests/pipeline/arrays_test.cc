// SPDX-License-Identifier: Apache-2.0
// Runs over arrays of the program: rows that come ready.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>

#include <sys/mman.h>

#include <forebay/forebay.h>

#include "plan/state/state.h"
#include "tests/pipeline/restarts.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::parse;

using Numbers = std::vector<std::int64_t>;

/// Arrays of `rows` rows: n [rows] counts, pair [rows, 2] has 10 n and 10 n + 1, name [rows] are strings.
class Sample {
 public:
  explicit Sample(std::int64_t rows) : n_(static_cast<std::size_t>(rows)) {
    std::iota(n_.begin(), n_.end(), 0);
    splits_.push_back(0);
    for (const std::int64_t n : n_) {
      pair_.push_back(static_cast<float>(10 * n));
      pair_.push_back(static_cast<float>(10 * n + 1));
      names_ += name(n);
      splits_.push_back(static_cast<std::int64_t>(names_.size()));
    }
  }

  [[nodiscard]] static std::string name(std::int64_t n) { return n % 3 == 0 ? "" : "row " + std::to_string(n); }

  [[nodiscard]] Bindings bindings() const {
    const auto rows = static_cast<std::int64_t>(n_.size());
    return {
        {"in",
         *array_rows(
             {{.name = "n", .dtype = DType::int64, .shape = {rows}, .data = n_.data()},
              {.name = "pair", .dtype = DType::float32, .shape = {rows, 2}, .data = pair_.data()},
              {.name = "name", .dtype = DType::string, .shape = {rows}, .data = names_.data(), .byte_splits = splits_}},
             nullptr)}};
  }

 private:
  Numbers n_, splits_;
  std::vector<float> pair_;
  std::string names_;
};

Json document_of(const std::string& steps, const std::string& rest = "") {
  return parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [)" + steps + "]" + rest + "}");
}

/// The rows of a run, by the tensor n; the other tensors must agree with it.
Numbers delivered(Loader& loader) {
  Numbers out;
  for (Batch& batch : loader.batches()) {
    const auto n = batch.tensor("n").as<std::int64_t>();
    const auto pair = batch.tensor("pair").as<float>();
    for (std::int64_t row = 0; row < batch.valid_rows(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      out.push_back(n[at]);
      EXPECT_EQ(pair[2 * at], static_cast<float>(10 * n[at]));
      EXPECT_EQ(pair[2 * at + 1], static_cast<float>(10 * n[at] + 1));
      EXPECT_EQ(batch.tensor("name").string(row), Sample::name(n[at]));
      EXPECT_EQ(batch.origin(row).record, n[at]);
      EXPECT_EQ(batch.key(row), "arrays:" + std::to_string(n[at]));
    }
  }
  EXPECT_TRUE(loader.status().ok()) << loader.status().error().text();
  return out;
}

Numbers numbers_of(const Json& document, const Bindings& bindings, RunOptions options = {}) {
  auto loader = load(document, options, ".", bindings);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  return delivered(*loader);
}

Numbers counted(std::int64_t rows) {
  Numbers out(static_cast<std::size_t>(rows));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(ArrayRows, ComeInTheirOrder) {
  const Sample sample{1000};
  for (const std::int64_t threads : {1, 8})
    EXPECT_EQ(numbers_of(document_of(R"({"batch": {"size": 64}})"), sample.bindings(), {.threads = threads}),
              counted(1000));
}

TEST(ArrayRows, BothShufflesGiveAPermutationThatThreadsDoNotChange) {
  const Sample sample{5000};
  for (const char* shuffle : {R"({"shuffle": {"buffer": 700}})", R"({"shuffle": {"global": true}})"}) {
    const Json document = document_of(std::string{shuffle} + R"(, {"batch": {"size": 64}})", R"(, "epochs": 2)");
    const Numbers one = numbers_of(document, sample.bindings(), {.threads = 1});
    EXPECT_EQ(numbers_of(document, sample.bindings(), {.threads = 8}), one);
    for (const auto begin : {one.begin(), one.begin() + 5000}) {
      Numbers epoch(begin, begin + 5000);
      EXPECT_NE(epoch, counted(5000));
      std::sort(epoch.begin(), epoch.end());
      EXPECT_EQ(epoch, counted(5000));
    }
    EXPECT_FALSE(std::equal(one.begin(), one.begin() + 5000, one.begin() + 5000)) << "epochs differ";
  }
}

TEST(ArrayRows, ShardsOfRowsAreTheWholeBatch) {
  const Sample sample{1000};
  const Json document = document_of(R"({"shuffle": {"global": true}}, {"batch": {"size": 40}})");
  const Numbers whole = numbers_of(document, sample.bindings());
  Numbers together(whole.size());
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    const Numbers part = numbers_of(document, sample.bindings(), {.shard_index = shard, .shard_count = 4});
    for (std::size_t i = 0; i < part.size(); ++i)
      together[i / 10 * 40 + static_cast<std::size_t>(shard) * 10 + i % 10] = part[i];
  }
  EXPECT_EQ(together, whole);
}

TEST(ArrayRows, ARestartAtEveryBatchGoesOnExactly) {
  const Sample sample{300};
  for (const char* shuffle : {"", R"({"shuffle": {"buffer": 50}},)", R"({"shuffle": {"global": true}},)"}) {
    const Json document = document_of(std::string{shuffle} + R"({"batch": {"size": 32}})", R"(, "epochs": 3)");
    const Numbers whole = numbers_of(document, sample.bindings());
    auto first = load(document, {.threads = 1}, ".", sample.bindings());
    for (std::size_t rows = 0;;) {
      auto second = load(document, {.threads = 3}, ".", sample.bindings());
      ASSERT_TRUE(second->restore(*first->state()).ok());
      EXPECT_EQ(delivered(*second), Numbers(whole.begin() + static_cast<std::ptrdiff_t>(rows), whole.end())) << rows;
      auto batch = first->next();
      ASSERT_TRUE(batch.ok());
      if (!*batch) break;
      rows += static_cast<std::size_t>((*batch)->valid_rows());
    }
  }
}

// Cutting three billion rows of a pass to drop them would take a minute.
TEST(ArrayRows, ARestartDeepInAPassCostsNothing) {
  constexpr std::int64_t rows = 4'000'000'000;
  constexpr std::int64_t next = 30'000'000;
  const std::int8_t value = 7;
  const Bindings bindings{
      {"in",
       *array_rows({{.name = "n", .dtype = DType::int8, .shape = {rows}, .data = &value, .strides = {0}}}, nullptr)}};
  for (const char* order : {"", R"({"shuffle": {"global": true}},)", R"({"take": {"count": 3900000000}},)"}) {
    const Json document = document_of(std::string{order} + R"({"batch": {"size": 100}})", R"(, "epochs": 2)");
    auto loader = load(document, {.threads = 1}, ".", bindings);
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const auto state = plan::write_state(loader->plan(), {}, testing::sizes_now(loader->plan()), {.next = next});
    ASSERT_TRUE(state.ok()) << state.error().text();
    const auto began = std::chrono::steady_clock::now();
    ASSERT_TRUE(loader->restore(*state).ok());
    const auto batch = loader->next();
    ASSERT_TRUE(batch.ok()) << batch.error().text();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{5});
    EXPECT_EQ((*batch)->number(), next);
    if (!std::string{order}.starts_with(R"({"shuffle)")) {
      EXPECT_EQ((*batch)->origin(99).record, 100 * next + 99);
    }
  }
}

TEST(ArrayRows, AStateOfOtherRowsIsRefused) {
  const Json document = document_of(R"({"batch": {"size": 32}})");
  const Sample shorter{300};
  auto before = load(document, {}, ".", shorter.bindings());
  ASSERT_TRUE(before->next().ok());
  const Sample longer{301};
  auto after = load(document, {}, ".", longer.bindings());
  const auto restored = after->restore(*before->state());
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.error().code(), Code::state);
}

TEST(ArrayRows, TheNumberOfBatchesIsKnown) {
  const Sample sample{1000};
  const auto batches = [&](const std::string& steps, const std::string& rest) {
    return Plan::make(document_of(steps, rest), ".", sample.bindings())->batches();
  };
  EXPECT_EQ(batches(R"({"batch": {"size": 64}})", ""), 16);
  EXPECT_EQ(batches(R"({"take": {"count": 100}}, {"batch": {"size": 64}})", R"(, "epochs": 3)"), 5);
  EXPECT_EQ(batches(R"({"batch": {"size": 64, "remainder": "drop"}})", R"(, "epochs": 2, "epoch_boundary": "hard")"),
            30);
  EXPECT_EQ(batches(R"({"batch": {"size": 64}})", R"(, "epochs": null)"), std::nullopt);
}

TEST(ArrayRows, OnlyDeliveredColumnsAreCopied) {
  const Sample sample{10};
  auto plan =
      Plan::make(document_of(R"({"select": {"tensors": ["pair"]}}, {"batch": {"size": 4}})"), ".", sample.bindings());
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_THAT(plan->text(), HasSubstr("source    arrays: 10 rows in memory"));
  EXPECT_THAT(plan->text(), HasSubstr("late      gather rows -> pair float32 [2]\n"));
}

/// A run of one batch over one array; the tensor's elements.
template <class T>
std::vector<T> gathered(const ArrayView& array, const char* steps = "") {
  const Bindings bindings{{"in", *array_rows({array}, nullptr)}};
  auto loader = load(document_of(std::string{steps} + R"({"batch": {"size": 100}})"), {}, ".", bindings);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  auto batch = loader->next();
  const auto values = (*batch)->tensor(array.name).as<T>();
  return {values.begin(), values.end()};
}

TEST(ArrayRows, MayHaveAnyStrideAlignmentAndByteOrder) {
  const std::vector<std::int16_t> values{1, 2, 3, 4, 5, 6};  // as [3, 2]
  const auto view = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::size_t first = 0) {
    return ArrayView{.name = "x",
                     .dtype = DType::int16,
                     .shape = std::move(shape),
                     .data = &values[first],
                     .strides = std::move(strides)};
  };
  EXPECT_THAT(gathered<std::int16_t>(view({3, 2}, {4, 2})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(gathered<std::int16_t>(view({2, 3}, {2, 4})), ElementsAre(1, 3, 5, 2, 4, 6)) << "transposed";
  EXPECT_THAT(gathered<std::int16_t>(view({3, 2}, {-4, 2}, 4)), ElementsAre(5, 6, 3, 4, 1, 2)) << "rows backwards";
  EXPECT_THAT(gathered<std::int16_t>(view({2, 3}, {0, 2})), ElementsAre(1, 2, 3, 1, 2, 3)) << "one row twice";
  EXPECT_THAT(gathered<std::int16_t>(view({2, 2, 2}, {2, 2, 4})), ElementsAre(1, 3, 2, 4, 2, 4, 3, 5));
  std::vector<std::byte> odd(13);
  std::memcpy(odd.data() + 1, values.data(), 12);
  ArrayView unaligned = view({6}, {});
  unaligned.data = odd.data() + 1;
  EXPECT_THAT(gathered<std::int16_t>(unaligned), ElementsAre(1, 2, 3, 4, 5, 6));
  ArrayView swapped = view({3, 2}, {4, 2});
  swapped.swapped = true;
  EXPECT_THAT(gathered<std::int16_t>(swapped), ElementsAre(256, 512, 768, 1024, 1280, 1536));
}

TEST(ArrayRows, NothingPastTheLastElementIsRead) {
  constexpr std::size_t page = 4096;
  auto* const memory =
      static_cast<std::byte*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  const std::size_t bytes = 7 * 3;
  std::iota(reinterpret_cast<std::uint8_t*>(memory + page - bytes), reinterpret_cast<std::uint8_t*>(memory + page), 0);
  const ArrayView array{.name = "x", .dtype = DType::uint8, .shape = {7, 3}, .data = memory + page - bytes};
  for (const char* steps : {"", R"({"shuffle": {"global": true}},)"}) {
    auto values = gathered<std::uint8_t>(array, steps);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values.size(), bytes);
    EXPECT_EQ(values.back(), bytes - 1);
  }
  munmap(memory, 2 * page);
}

TEST(ArrayRows, MayBeNone) {
  const Sample none{0};
  EXPECT_EQ(numbers_of(document_of(R"({"batch": {"size": 4}})"), none.bindings()), Numbers{});
  EXPECT_EQ(numbers_of(document_of(R"({"shuffle": {"global": true}}, {"batch": {"size": 4}})"), none.bindings()),
            Numbers{});
}

std::string fault_of(const Json& document, const Bindings& bindings) {
  const auto plan = Plan::make(document, ".", bindings);
  return plan.ok() ? "" : plan.error().text();
}

TEST(ArrayRows, DocumentsThatDoNotFitAreRefused) {
  const Sample sample{10};
  const Json document = document_of(R"({"batch": {"size": 4}})");
  EXPECT_THAT(
      fault_of(document, {}),
      HasSubstr(
          "the program binds no object; give a dict of arrays to the call that loads the document: bind={'in': …}"));
  Bindings other;
  other["inn"] = sample.bindings()["in"];
  EXPECT_THAT(fault_of(document, other),
              HasSubstr("/source/arrays/bind: the program binds no 'in'; did you mean 'inn'?"));
  Json decoded = document;
  decoded.set("decode", parse(R"({"record": {}})"));
  EXPECT_THAT(fault_of(decoded, sample.bindings()), HasSubstr("the rows of 'arrays' come ready; leave 'decode' out"));
  EXPECT_THAT(fault_of(document_of(R"({"slice": {"tensor": "pear", "slice": "[1:]"}}, {"batch": {"size": 4}})"),
                       sample.bindings()),
              HasSubstr("pear"));
}

TEST(ArrayRows, ArraysThatDoNotFitAreRefused) {
  const std::int64_t data[4] = {};
  const auto fault = [](std::vector<ArrayView> arrays) {
    const auto made = array_rows(std::move(arrays), nullptr);
    return made.ok() ? "" : made.error().text();
  };
  const ArrayView good{.name = "x", .dtype = DType::int64, .shape = {4}, .data = data};
  EXPECT_EQ(fault({good}), "");
  EXPECT_THAT(fault({}), HasSubstr("there is no array"));
  EXPECT_THAT(fault({good, good}), HasSubstr("array 'x': the name is given twice"));
  ArrayView bad = good;
  bad.name = "y";
  bad.shape = {3};
  EXPECT_THAT(fault({good, bad}), HasSubstr("array 'y': 3 rows, but array 'x' has 4"));
  bad.shape = {};
  EXPECT_THAT(fault({good, bad}), HasSubstr("it has no axis"));
  EXPECT_THAT(fault({bad, good}), HasSubstr("it has no axis"));
  bad.shape = {4, -1};
  EXPECT_THAT(fault({good, bad}), HasSubstr("a size is negative: -1"));
  bad.shape = {4, std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_THAT(fault({good, bad}), HasSubstr("more than 2^63 bytes"));
  bad.shape = std::vector<std::int64_t>(18, 1);
  EXPECT_THAT(fault({bad}), HasSubstr("18 axes; at most 17"));
  bad = good;
  bad.data = nullptr;
  EXPECT_THAT(fault({bad}), HasSubstr("it has elements but no memory"));
  bad = good;
  bad.strides = {8, 8};
  EXPECT_THAT(fault({bad}), HasSubstr("2 strides for 1 axes"));
  ArrayView strings{.name = "s", .dtype = DType::string, .shape = {2}, .data = "ab", .byte_splits = {0, 1, 2}};
  EXPECT_EQ(fault({strings}), "");
  strings.byte_splits = {0, 2, 1};
  EXPECT_THAT(fault({strings}), HasSubstr("must be 0 or more, and ascend"));
  strings.byte_splits = {0, 1};
  EXPECT_THAT(fault({strings}), HasSubstr("2 strings need 3 byte splits, found 2"));
}

}  // namespace
}  // namespace forebay
