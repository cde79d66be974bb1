// SPDX-License-Identifier: Apache-2.0
// Rows that are made between stages (docs/composition.md), by several threads and with a restart or a close in the
// middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/combinations.h"
#include "tests/pipeline/restarts.h"

namespace forebay::combine_runs {
namespace {

using ::testing::HasSubstr;
using testing::kept;
using testing::resumed;

std::string branch_of(const std::string& file, const std::string& steps = "", const std::string& more = "") {
  return R"({"source": {"tfrecord": {"files": [")" + file +
         R"("]}}, "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
             "x": {"kind": "var_len", "dtype": "int64"}}}}, "steps": [)" +
         steps + "]" + more + "}";
}

class Stretches : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::int64_t branch = 0; branch < 2; ++branch) {
      std::vector<std::string> messages;
      for (std::int64_t i = 0; i < 150; ++i) {
        std::vector<std::int64_t> x(static_cast<std::size_t>(i % 5 + 1), i);
        messages.push_back(encode_example({{"id", std::vector<std::int64_t>{branch * 1000 + i}}, {"x", std::move(x)}}));
      }
      ASSERT_TRUE(write_records(folder_.file(branch == 0 ? "a" : "b"), messages, Compression::none).ok());
    }
  }
  /// A mixture in which one branch cuts windows, filtered, cut again and shuffled.
  [[nodiscard]] Json document(const std::string& until) const {
    return testing::parse(R"({"source": {"mix": {"until": )" + until + R"(, "branches": [)" +
                          branch_of(folder_.file("a"), R"({"chunk": {"size": 3, "keys": ["x"]}})") + ", " +
                          branch_of(folder_.file("b"), R"({"shuffle": {"buffer": 20}})", R"(, "repeat": true)") +
                          R"(]}}, "epochs": 2, "seed": 5, "steps": [{"filter": {"where": "id % 7 != 0"}},
                          {"chunk": {"size": 2, "keys": ["x"]}}, {"shuffle": {"buffer": 30}},
                          {"batch": {"size": 16, "pad": true}}]})");
  }
  Folder folder_;
};

std::vector<std::string> batches_of(Result<Loader> loader) {
  std::vector<std::string> out;
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  while (loader.ok()) {
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) break;
    out.push_back(testing::text_of(**batch));
  }
  return out;
}

TEST_F(Stretches, AreTheSameForAnyNumberOfThreadsAndAfterARestart) {
  for (const char* until : {"100", R"("first")"}) {
    const Json json = document(until);
    const std::vector<std::string> whole = batches_of(load(json, {.threads = 1}));
    ASSERT_GT(whole.size(), 10U);
    EXPECT_EQ(batches_of(load(json, {.threads = 4})), whole);
    for (std::size_t stop = 0; stop < whole.size(); stop += 7) {
      auto loader = load(json, {.threads = 2});
      ASSERT_TRUE(loader.ok());
      for (std::size_t i = 0; i < stop; ++i) ASSERT_TRUE(loader->next().ok());
      auto other = load(json, {.threads = 3});
      ASSERT_TRUE(other.ok() && other->restore(kept(*loader)).ok());
      EXPECT_EQ(batches_of(std::move(other)),
                std::vector<std::string>(whole.begin() + static_cast<std::ptrdiff_t>(stop), whole.end()));
    }
  }
}

TEST_F(Stretches, StopAnywhere) {
  for (int batches = 0; batches < 12; ++batches) {
    auto loader = load(document(R"("all")"), {.threads = 3});
    ASSERT_TRUE(loader.ok());
    for (int i = 0; i < batches; ++i) ASSERT_TRUE(loader->next().ok());
    loader->close();
    EXPECT_FALSE(loader->next().ok());
  }
}

TEST_F(Stretches, HoldRowsByNumberWithinTheBudget) {
  const auto shuffled = [&](std::int64_t memory) {
    return load(
        testing::parse(R"({"source": {"concat": {"branches": [)" + branch_of(folder_.file("a")) + ", " +
                       branch_of(folder_.file("b")) +
                       R"(]}}, "steps": [{"shuffle": {"global": true}}, {"batch": {"size": 10, "pad": true}}]})"),
        {.threads = 2, .memory = memory});
  };
  EXPECT_EQ(batches_of(shuffled(std::int64_t{64} << 20)).size(), 30U);
  auto loader = shuffled(5000);
  ASSERT_TRUE(loader.ok());
  auto batch = loader->next();
  while (batch.ok() && *batch) batch = loader->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().text(), HasSubstr("budget"));
}

}  // namespace
}  // namespace forebay::combine_runs
