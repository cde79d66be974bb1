// SPDX-License-Identifier: Apache-2.0
// Slow steps in whole runs: draws, corrupt images, a stop.
#include <chrono>
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
using testing::parse;
using Watch = std::chrono::steady_clock;

/// Images of different sizes as records; `bad` ones are cut short.
std::string write_images(const std::string& path, std::int64_t count, const std::set<std::int64_t>& bad = {},
                         std::int64_t size = 40) {
  std::vector<std::string> messages;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string file = test::jpeg_of(test::picture(size + i % 7, size - 5 + i % 5, 3, static_cast<std::uint32_t>(i)));
    if (bad.contains(i)) file.resize(file.size() / 2);
    messages.push_back(
        encode_example({{"image", std::vector<std::string>{file}}, {"id", std::vector<std::int64_t>{i}}}));
  }
  EXPECT_TRUE(write_records(path, messages, Compression::none).ok());
  return path;
}

Json image_document(const std::string& file, const std::string& steps, const std::string& rest = R"("seed": 3)") {
  return parse(R"({"source": {"tfrecord": {"files": [")" + file + R"("]}}, "decode": {"example": {"features": {
      "id": {"dtype": "int64", "shape": []}, "image": {"dtype": "string", "shape": []}}}},
      "steps": [)" +
               steps + "], " + rest + "}");
}

const std::string random_crop =
    R"({"decode_image": {"tensor": "image", "region": {"random_resized": {"scale": [0.2, 1]}}, "resize": [16, 12],
                         "flip": "random"}})";

/// What each occurrence of a record in a run looks like.
std::map<std::int64_t, std::vector<std::string>> looks_of(const Json& json) {
  std::map<std::int64_t, std::vector<std::string>> out;
  auto loader = load(json, {.threads = 2});
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  while (true) {
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) return out;
    const Tensor& image = (*batch)->tensor("image");
    const auto bytes = static_cast<std::size_t>(image.count() / (*batch)->rows());
    for (std::size_t row = 0; row < static_cast<std::size_t>((*batch)->valid_rows()); ++row) {
      out[(*batch)->tensor("id").as<std::int64_t>()[row]].emplace_back(
          reinterpret_cast<const char*>(image.data) + row * bytes, bytes);
    }
  }
}

TEST(Images, ARandomCropIsTheSameForAnyNumberOfThreadsAndAfterEveryRestart) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 30);
  const std::vector<std::string> lists{
      R"({"shuffle": {"buffer": 10}}, )" + random_crop + R"(, {"batch": {"size": 8}})",
      R"({"shuffle": {"global": true}}, {"repeat": {"count": 2}}, {"shuffle": {"buffer": 20}}, )" + random_crop +
          R"(, {"cast": {"tensor": "image", "dtype": "float32"}}, {"batch": {"size": 8, "remainder": "repeat"}})",
      R"({"decode_image": {"tensor": "image", "region": {"random_resized": {}}}}, {"batch": {"size": 8, "pad": true}})"};
  for (const std::string& steps : lists) {
    const Json json = image_document(file, steps, R"("seed": 3, "epochs": 2)");
    auto loader = load(json, {.threads = 1});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const auto [all, states] = testing::whole_run(*loader);
    ASSERT_GT(all.size(), 6U);
    for (std::size_t i = 0; i < states.size(); ++i) {
      auto again = testing::resumed(json, states[i], {.threads = i % 2 == 0 ? 8 : 3});
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_TRUE(testing::rest(*again) == std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end()))
          << steps << i;
    }
  }
}

TEST(Images, EveryRepeatOfARecordDrawsAnew) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 6);
  for (const auto& [steps, rest, times] : std::vector<std::tuple<std::string, std::string, std::size_t>>{
           {R"({"batch": {"size": 4}})", R"("epochs": 3)", 3},
           {R"({"repeat": {"count": 3}}, {"shuffle": {"buffer": 9}}, {"batch": {"size": 4}})", R"("epochs": 2)", 6},
           {R"({"take": {"count": 1}}, {"batch": {"size": 5, "remainder": "repeat"}})",
            R"("epochs": 2, "epoch_boundary": "hard")", 10}}) {
    for (const auto& [id, looks] :
         looks_of(image_document(file, random_crop + ", " + steps, R"("seed": 3, )" + rest))) {
      EXPECT_EQ(looks.size(), times) << steps;
      EXPECT_EQ(std::set(looks.begin(), looks.end()).size(), times) << steps << id;
    }
  }
}

TEST(Images, RepeatsInShuffledBatchesDrawAnewAndRestartExactly) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 20);
  const std::string steps =
      R"({"repeat": {"count": 2}}, )" + random_crop + R"(, {"batch": {"size": 4}}, {"shuffle_batches": {"buffer": 3}})";
  const Json json = image_document(file, steps, R"("seed": 3, "epochs": 2, "epoch_boundary": "hard")");
  for (const auto& [id, looks] : looks_of(json)) EXPECT_EQ(std::set(looks.begin(), looks.end()).size(), 4) << id;
  auto loader = load(json, {.threads = 1});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto [all, states] = testing::whole_run(*loader);
  ASSERT_EQ(all.size(), 20U);
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto again = testing::resumed(json, states[i], {.threads = 3});
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_TRUE(testing::rest(*again) == std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.end())) << i;
  }
}

/// A draw belongs to one record and one pass. Where a row of a batch has neither, the rows are made before.
TEST(Images, DrawsMayStandBeforeWindowsAndBatchesThatMixEpochs) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 4);
  const auto fault_of = [&](const std::string& steps, const std::string& rest) {
    const auto loader = load(parse(R"({"source": {"tfrecord": {"files": [")" + file +
                                   R"("]}}, "decode": {"example": {"features": {
        "id": {"kind": "var_len", "dtype": "int64"}, "image": {"dtype": "string", "shape": []}}}}, "steps": [)" +
                                   steps + R"(], "seed": 3, )" + rest + "}"));
    return loader.ok() ? "no fault" : loader.error().text();
  };
  const std::string windows = R"({"chunk": {"keys": ["id"], "size": 2}}, {"batch": {"size": 2, "pad": true}})";
  EXPECT_EQ(fault_of(random_crop + ", " + windows, R"("epochs": 1)"), "no fault");
  EXPECT_EQ(fault_of(R"({"decode_image": {"tensor": "image", "resize": [8, 8]}}, )" + windows, R"("epochs": 1)"),
            "no fault");
  const std::string buckets = R"({"buckets": {"key": "id", "boundaries": [4], "sizes": [2]}})";
  EXPECT_EQ(fault_of(random_crop + ", " + buckets, R"("epochs": 2)"), "no fault");
  EXPECT_EQ(fault_of(random_crop + ", " + buckets, R"("epochs": 2, "epoch_boundary": "hard")"), "no fault");
  EXPECT_EQ(fault_of(random_crop + ", " + buckets, R"("epochs": 1)"), "no fault");
}

TEST(Images, OneBadImageInEachBatchLeavesShapesAndRanksEqual) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 24, {1, 9, 22});
  const Json json = image_document(file, random_crop + R"(, {"batch": {"size": 8}})", R"("on_corrupt": "skip_row")");
  const std::vector<std::int64_t> skipped{1, 9, 22};
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    auto loader = load(json, {.threads = 2, .shard_index = rank, .shard_count = 2});
    for (std::size_t i = 0; i < 3; ++i) {
      auto batch = loader->next();
      ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
      const Tensor& image = (*batch)->tensor("image");
      EXPECT_EQ(image.shape, (Shape{4, 16, 12, 3}));
      EXPECT_EQ((*batch)->rows(), 4);
      const bool here = (skipped[i] % 8 < 4) == (rank == 0);
      EXPECT_EQ((*batch)->valid_rows(), here ? 3 : 4);
      ASSERT_EQ((*batch)->skipped().size(), here ? 1U : 0U);
      if (!here) continue;
      EXPECT_EQ((*batch)->skipped()[0].origin.record, skipped[i]);
      EXPECT_THAT((*batch)->skipped()[0].error.text(), HasSubstr("decode_image"));
      const auto last = image.as<std::uint8_t>().subspan(3 * 16 * 12 * 3);
      EXPECT_TRUE(std::ranges::all_of(last, [](std::uint8_t pixel) { return pixel == 0; }));
    }
  }
  const auto failed = testing::run(image_document(file, random_crop + R"(, {"batch": {"size": 8}})", R"("seed": 3)"));
  EXPECT_TRUE(failed.batches.empty());
  EXPECT_THAT(failed.error, HasSubstr("record 1,"));
}

TEST(Images, OfDifferentSizesAreRaggedAndSkippedRowsAreEmpty) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 10, {3});
  const std::string whole =
      R"({"decode_image": {"tensor": "image", "out": "pixels"}}, {"batch": {"size": 5, "pad": true}})";
  for (const std::int64_t threads : {1, 8}) {
    auto loader = load(image_document(file, whole, R"("on_corrupt": "skip_row")"), {.threads = threads});
    auto batch = loader->next();
    ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
    EXPECT_EQ((*batch)->tensor("pixels").shape, (Shape{5, 39, 44, 3}));
    const auto lengths = (*batch)->lengths("pixels")->as<std::int64_t>();
    EXPECT_EQ(std::vector(lengths.begin(), lengths.end()),
              (std::vector<std::int64_t>{35, 40, 36, 41, 37, 42, 39, 44, 0, 0}));
    EXPECT_EQ((*batch)->valid_rows(), 4);
  }
}

std::string plan_fault(const std::string& file, const std::string& steps) {
  const auto plan = Plan::make(image_document(file, steps));
  return plan.ok() ? "none" : plan.error().text();
}

/// With `early` the step runs twice for a record; without it, or where it draws, the rows are made before.
TEST(Images, AFilterOverAnExpensiveStepMakesRowsUnlessItSaysEarly) {
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 6);
  const std::string whole = R"({"decode_image": {"tensor": "image", "resize": [4, 4]}}, )";
  const std::string batch = R"(, {"batch": {"size": 2}})";
  const auto makes_rows = [&](const std::string& steps) {
    return Plan::make(image_document(file, steps))->text().find("\nmade ") != std::string::npos;
  };
  EXPECT_TRUE(makes_rows(whole + R"({"filter": {"where": "length(image) > 300"}})" + batch));
  EXPECT_EQ(plan_fault(file, whole + R"({"filter": {"where": "id > 2"}})" + batch), "none");
  const std::string early = R"({"filter": {"where": "length(image) > 3", "early": true}})";
  EXPECT_EQ(plan_fault(file, whole + early + batch), "none");
  EXPECT_EQ(looks_of(image_document(file, whole + early + batch)).size(), 6U);
  EXPECT_FALSE(makes_rows(whole + early + batch));
  EXPECT_TRUE(makes_rows(random_crop + ", " + early + batch));
}

/// Waits in steps of a millisecond until the run is stopped, as a step does that polls.
class SlowStep final : public Step {
 public:
  [[nodiscard]] Result<void> apply(ColumnBlock& rows, const StepContext& context, StepMemory*) const override {
    const auto end = Watch::now() + std::chrono::milliseconds{20} * rows.rows;
    while (Watch::now() < end) StopCheck::look(context.stop);
    return {};
  }
};

struct SlowOptions {
  bool unused = false;
};

void register_slow() {
  static const bool once = [] {
    Registry::global().add(describe<StepType, SlowOptions>(
                               "test_slow", "Takes long.",
                               [](const SlowOptions&, const Schema& in) -> Result<Bound<Step>> {
                                 return Bound<Step>{.op = std::make_unique<SlowStep>(), .out = in, .expensive = true};
                               })
                               .field("unused", &SlowOptions::unused, "Nothing.")
                               .example({.options = "{}", .in = R"({"x": [1]})", .out = R"({"x": [1]})"}));
    return true;
  }();
  static_cast<void>(once);
}

TEST(SlowSteps, ACallOfNextWithATimeoutComesBackAndAStopIsQuick) {
  register_slow();
  const Folder folder;
  const std::string file = write_images(folder.file("a"), 200, {}, 8);
  for (const std::int64_t threads : {1, 2, 8}) {
    auto loader = load(image_document(file, R"({"test_slow": {}}, {"batch": {"size": 200}})"), {.threads = threads});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    for (int i = 0; i < 3; ++i) {
      const auto since = Watch::now();
      bool timed_out = false;
      EXPECT_TRUE(loader->next_within(std::chrono::milliseconds{50}, timed_out).ok());
      EXPECT_TRUE(timed_out);
      EXPECT_LT(Watch::now() - since, std::chrono::milliseconds{150}) << "a caller that looks for an interrupt waits";
    }
    const auto since = Watch::now();
    loader->close();
    EXPECT_LT(Watch::now() - since, std::chrono::milliseconds{100});
  }
}

}  // namespace
}  // namespace forebay
