// SPDX-License-Identifier: Apache-2.0
// Tests of configurations whose parts contradict each other: buffers larger than the memory, batches larger than the
// data, more files open than there are. Each run ends, cleanly or with an error; none hangs.
#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay {
namespace {

using testing::Folder;

constexpr std::chrono::seconds timeout{30};

/// One value out of several, drawn by a seeded generator.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_{seed} {}
  template <class Value>
  const Value& of(const std::vector<Value>& values) {
    return values[random_() % values.size()];
  }
  std::string of(std::initializer_list<const char*> values) { return std::data(values)[random_() % values.size()]; }

 private:
  std::mt19937 random_;
};

struct Configuration {
  Json document;
  RunOptions options;
};

Configuration hostile(Draws& draws, const Folder& folder) {
  const std::string files = folder.file(draws.of({"part-?.tfrecord", "part-2.tfrecord", "part-1.tfrecord"}));
  std::string steps = draws.of({"", R"({"shuffle": {"buffer": 3}}, )", R"({"repeat": {"count": 3}}, )"});
  steps += draws.of({"", R"({"interleave": {"cycle": 1}}, )", R"({"interleave": {"cycle": 100, "block": 1}}, )",
                     R"({"interleave": {"cycle": 3, "block": 1000000, "sloppy": true}}, )"});
  steps += draws.of({"", R"({"shuffle": {"buffer": 1}}, )", R"({"shuffle": {"buffer": 1000000000}}, )",
                     R"({"take": {"count": 0}}, )", R"({"skip": {"count": 300}}, )"});
  steps += R"({"batch": {"size": )" + draws.of({"1", "2", "256", "100000"}) + R"(, "remainder": ")" +
           draws.of({"keep", "drop", "pad", "repeat"}) + R"("}})";
  const std::string more = R"(, "epochs": )" + draws.of({"1", "3", "null"}) + R"(, "epoch_boundary": ")" +
                           draws.of({"hard", "straddle"}) + R"(", "deterministic": )" + draws.of({"true", "false"}) +
                           R"(, "on_corrupt": ")" + draws.of({"fail", "skip_record", "skip_file"}) + "\"";
  return {.document = testing::document(files, steps, more),
          .options = {.threads = draws.of(std::vector<std::int64_t>{1, 2, 3, 16}),
                      .memory = draws.of(std::vector<std::int64_t>{1, 4096, 100'000, 1 << 20, 64 << 20}),
                      .prefetch = draws.of(std::vector<std::int64_t>{0, 1, 2, 64})}};
}

TEST(HostileConfigurations, ComeToAnEndOrToAnError) {
  const Folder folder;
  testing::write_parts(folder, {60, 0, 2000, 7, 88}, {.gzip = 2, .zlib = 4});
  Draws draws{4};
  const int configurations = tests::sanitized ? 60 : 400;
  int delivered = 0, refused = 0;
  for (int i = 0; i < configurations; ++i) {
    const Configuration configuration = hostile(draws, folder);
    SCOPED_TRACE(configuration.document.text());
    auto pipeline = load(configuration.document, configuration.options);
    if (!pipeline.ok()) {
      ++refused;
      continue;
    }
    for (int batch = 0; batch < 50; ++batch) {  // some runs are endless
      bool timed_out = false;
      const auto next = pipeline->next_within(timeout, timed_out);
      ASSERT_FALSE(timed_out) << configuration.options.threads << " threads, memory " << configuration.options.memory
                              << ", prefetch " << configuration.options.prefetch << ", batch " << batch;
      if (!next.ok()) ++refused;
      if (!next.ok() || !*next) break;
      ++delivered;
    }
  }
  EXPECT_GT(delivered, configurations);
  EXPECT_GT(refused, configurations / 20);
}

TEST(HostileConfigurations, AnEndlessRunWhoseEpochsAreShorterThanABatchSaysSo) {
  const Folder folder;
  testing::write_parts(folder, {60, 0, 20, 7, 8}, {.gzip = 2, .zlib = 4});
  const std::string batch = R"({"batch": {"size": 100, "remainder": "drop"}})";
  const std::string hard = R"(, "epoch_boundary": "hard", "epochs": )";
  for (const std::int64_t threads : {1, 3}) {
    const auto endless =
        testing::run(testing::document(folder.file("part-?.tfrecord"), batch, hard + "null"), {.threads = threads});
    EXPECT_EQ(endless.batches.size(), 0U);
    EXPECT_EQ(endless.error,
              "16 epochs one after the other had fewer records than a batch, and `remainder: drop` leaves those out: "
              "this run would never deliver anything; make batches smaller than an epoch, or set `remainder` or "
              "`epoch_boundary` to something else");
    EXPECT_EQ(testing::run(testing::document(folder.file("part-?.tfrecord"), batch, hard + "40"), {.threads = threads}),
              testing::Delivered{})
        << "a run that ends may be empty";
  }
}

}  // namespace
}  // namespace forebay
