// SPDX-License-Identifier: Apache-2.0
// Runs over rows that the program gives anew for each pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <forebay/forebay.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Seconds = std::chrono::seconds;
using Numbers = std::vector<std::int64_t>;

/// A data set whose epoch e has the numbers 10 e … 10 e + 4. A thread gives them.
class TensOfEpochs {
 public:
  TensOfEpochs() : passes_{*RowPasses::make(schema(), 2)}, thread_{[this] { give(); }} {}
  ~TensOfEpochs() {
    passes_.close();
    thread_.join();
  }
  [[nodiscard]] Bindings bindings() const { return {{"in", passes_.source("tens")}}; }

 private:
  static Schema schema() {
    Schema out;
    out.put({.name = "n", .dtype = DType::int64, .shape = {}});
    return out;
  }
  static bool put(Feed& rows, std::int64_t number) {
    const Numbers one{number};
    const auto row = array_rows({{.name = "n", .dtype = DType::int64, .shape = {1}, .data = one.data()}}, nullptr);
    const auto done = rows.put(**row, Seconds{20});
    return done.ok() && *done;
  }
  void give() {
    while (true) {
      auto pass = passes_.next(Seconds{20});
      if (!pass.ok()) return;
      if (!*pass) continue;
      Feed& rows = (*pass)->rows;
      std::int64_t i = 0;
      while (i < 5 && put(rows, 10 * (*pass)->epoch + i)) ++i;
      if (i == 5) rows.close();
    }
  }

  RowPasses passes_;
  std::thread thread_;
};

Loader start_tens(const TensOfEpochs& data, const std::string& source, std::int64_t threads) {
  const Json document =
      testing::parse(R"({"source": )" + source + R"(, "steps": [{"batch": {"size": 3}}], "epochs": 3})");
  auto loader = load(document, {.threads = threads}, ".", data.bindings());
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  return *std::move(loader);
}

constexpr const char* tens = R"({"feed": {"bind": "in"}})";

std::vector<Numbers> batches_left(Loader& loader) {
  std::vector<Numbers> out;
  for (Batch& batch : loader.batches()) {
    const auto n = batch.tensor("n").as<std::int64_t>();
    out.emplace_back(n.begin(), n.end());
  }
  EXPECT_TRUE(loader.status().ok()) << loader.status().error().text();
  return out;
}

TEST(RowPasses, GiveEachEpochAndRestartAtEveryBatch) {
  const TensOfEpochs data;
  Loader loader = start_tens(data, tens, 2);
  const std::vector<Numbers> whole{{0, 1, 2}, {3, 4, 10}, {11, 12, 13}, {14, 20, 21}, {22, 23, 24}};
  std::vector<Json> states{*loader.state()};
  while (*loader.next()) states.push_back(*loader.state());
  ASSERT_EQ(states.size(), whole.size() + 1);
  for (std::size_t at = 0; at < states.size(); ++at) {
    ASSERT_TRUE(loader.restore(states[at]).ok());
    EXPECT_EQ(batches_left(loader), std::vector<Numbers>(whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end()));
  }
  ASSERT_TRUE(loader.begin_anew().ok());
  EXPECT_EQ(batches_left(loader), whole);
}

TEST(RowPasses, OfABranchRepeatWithTheirOwnEpochs) {
  const TensOfEpochs data;
  Loader loader = start_tens(
      data, R"({"mix": {"until": 6, "branches": [{"source": {"feed": {"bind": "in"}}, "repeat": true}]}})", 1);
  EXPECT_THAT(batches_left(loader), ElementsAre(Numbers{0, 1, 2}, Numbers{3, 4, 10}, Numbers{11, 12, 13},
                                                Numbers{14, 20, 21}, Numbers{22, 23, 24}, Numbers{30, 31, 32}));
}

TEST(RowPasses, AreReadOneAtATime) {
  const TensOfEpochs data;
  const std::string branch = R"({"source": {"feed": {"bind": "in"}}})";
  Loader loader = start_tens(data, R"({"round_robin": {"branches": [)" + branch + ", " + branch + "]}}", 1);
  const auto batch = loader.next();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().text(), HasSubstr("it has one pass at a time; give each branch and each run a data set"));
}

TEST(RowPasses, ThatAreClosedEndTheWaitOfTheProgram) {
  Schema schema;
  EXPECT_THAT(RowPasses::make(schema).error().text(), HasSubstr("a feed needs a column"));
  schema.put({.name = "n", .dtype = DType::int64, .shape = {}});
  const RowPasses passes = *RowPasses::make(schema);
  EXPECT_FALSE(*passes.next(std::chrono::milliseconds{1}));
  passes.close();
  EXPECT_EQ(passes.next(Seconds{20}).error().code(), Code::cancelled);
}

}  // namespace
}  // namespace forebay
