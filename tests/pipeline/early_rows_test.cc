// SPDX-License-Identifier: Apache-2.0
// Windows that come in many batches: their records are decoded once, when their block is read.
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/forebay.h>
#include <forebay/plugin.h>

#include "tests/engine/order/stream_files.h"
#include "tests/pipeline/tensors_json.h"

namespace forebay {
namespace {

using testing::Delivered;
using ::testing::HasSubstr;
using ::testing::Not;

std::atomic<std::int64_t> decoded{0};  // records

/// The decoder `example`, which counts the records that it decodes.
class Counting final : public Decoder {
 public:
  explicit Counting(std::shared_ptr<const Decoder> inner) : inner_{std::move(inner)} {}
  [[nodiscard]] std::unique_ptr<DecoderMemory> memory() const override { return inner_->memory(); }
  [[nodiscard]] Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                    DecoderMemory& memory) const override {
    decoded += std::ssize(records);
    return inner_->decode(records, first_row, block, memory);
  }

 private:
  const std::shared_ptr<const Decoder> inner_;
};

void register_counting() {
  const auto& all = Registry::global().decoders();
  const auto named = [](const DecoderType& type) { return type.description.name == "example"; };
  DecoderType counting = *std::ranges::find_if(all, named);
  counting.description.name = "counted_example";
  counting.bind = [inner = counting.bind](const Json& options,
                                          const std::vector<std::string>& wanted) -> Result<Bound<Decoder>> {
    FOREBAY_TRY(auto bound, inner(options, wanted));
    bound.op = std::make_unique<Counting>(std::move(bound.op));
    return bound;
  };
  Registry::global().add(std::move(counting));
}

/// 300 records; record r has r % 23 frames of 100 r + 0, 1, 2 …, and as many words.
class EarlyRows : public ::testing::Test {
 protected:
  static constexpr std::int64_t records = 300;

  static void SetUpTestSuite() { register_counting(); }

  void SetUp() override {
    std::vector<std::string> messages;
    for (std::int64_t r = 0; r < records; ++r) {
      std::vector<std::int64_t> frames(static_cast<std::size_t>(r % 23));
      std::iota(frames.begin(), frames.end(), 100 * r);
      std::vector<std::string> words;
      for (const std::int64_t frame : frames) words.push_back(std::to_string(frame) + std::string(200, '.'));
      ExampleMap features{{"x", frames}, {"id", std::vector<std::int64_t>{r}}};
      if (!words.empty()) features["words"] = words;
      messages.push_back(encode_example(features));
    }
    ASSERT_TRUE(write_records(folder_.file("plain"), messages).ok());
    ASSERT_TRUE(write_records(folder_.file("compressed"), messages, Compression::gzip).ok());
  }

  [[nodiscard]] Json document(const std::string& file, const std::string& steps, const std::string& more = "") const {
    return testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file(file) + R"("]}},
      "decode": {"counted_example": {"features": {"x": {"kind": "var_len", "dtype": "int64"},
                                                  "words": {"kind": "var_len", "dtype": "string"},
                                                  "id": {"dtype": "int64", "shape": []}}}},
      "steps": [)" + steps +
                          "]" + more + "}");
  }

  /// The records that a run decodes.
  static std::int64_t decoded_by(const Json& json, const RunOptions& options) {
    const std::int64_t before = decoded;
    const Delivered run = testing::run(json, options);
    EXPECT_EQ(run.error, "");
    EXPECT_GT(run.batches.size(), 20U);
    return decoded - before;
  }

  testing::Folder folder_;
};

constexpr auto moved_chunks =
    R"({"chunk": {"keys": ["x", "words"], "size": 4, "step": 2}}, {"shuffle": {"buffer": 400}},
                             {"batch": {"size": 16, "pad": true}})";

TEST_F(EarlyRows, DecodeEachRecordOnceForAllItsWindows) {
  EXPECT_EQ(decoded_by(document("plain", moved_chunks), {.threads = 1}), records);
  EXPECT_EQ(decoded_by(document("compressed", moved_chunks), {.threads = 4}), records);
  EXPECT_EQ(decoded_by(document("plain", moved_chunks, R"(, "on_corrupt": "skip_record")"), {.threads = 2}), records);
}

TEST_F(EarlyRows, ServeSegmentsOfSequencesToo) {
  const auto segments = R"({"filter": {"where": "length(x) > 0"}}, {"unroll": {"num_unroll": 3, "keys": ["x"]}},
                           {"stateful": {"batch_size": 8}})";
  EXPECT_EQ(decoded_by(document("plain", segments), {.threads = 2}), records);
}

TEST_F(EarlyRows, AreLeftOutWhereWindowsKeepTheirOrder) {
  const auto plan = [&](const std::string& steps) { return std::string{Plan::make(document("plain", steps))->text()}; };
  EXPECT_THAT(plan(moved_chunks), HasSubstr("once for all windows"));
  EXPECT_THAT(plan(R"({"shuffle": {"buffer": 9}}, {"chunk": {"size": 4, "keys": ["x"]}}, {"take": {"count": 90}},
                      {"batch": {"size": 16}})"),
              Not(HasSubstr("once for all windows")));
}

TEST_F(EarlyRows, ThatTheBudgetHasNoRoomForAreDecodedByTickets) {
  const Json json = document("compressed", moved_chunks, R"(, "epochs": 2, "seed": 5)");
  const Delivered wanted = testing::run(json, {.threads = 1});
  const std::int64_t before = decoded;
  const Delivered got = testing::run(json, {.threads = 2, .memory = std::int64_t{2} << 20, .prefetch = 1});
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got, wanted);
  EXPECT_GT(decoded - before, 4 * records);
}

TEST_F(EarlyRows, HaveTheStepsBeforeTheWindows) {
  const std::string rest = R"({"shuffle": {"buffer": 100}}, {"batch": {"size": 4, "pad": true}})";
  const Delivered early = testing::run(
      document("plain",
               R"({"cast": {"tensor": "x", "dtype": "float32"}}, {"chunk": {"keys": ["x"], "size": 3}}, )" + rest),
      {.threads = 2});
  const Delivered late = testing::run(
      document("plain",
               R"({"chunk": {"keys": ["x"], "size": 3}}, {"cast": {"tensor": "x", "dtype": "float32"}}, )" + rest),
      {.threads = 2});
  EXPECT_EQ(early, late);
  EXPECT_GT(early.batches.size(), 20U);
}

}  // namespace
}  // namespace forebay
