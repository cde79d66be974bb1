// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/restarts.h"

/// Runs whose rows follow sequences, and a program that saves states for them.
namespace forebay::stateful_runs {

using testing::Folder;

using TrainedLines = std::vector<std::string>;

inline constexpr const char* two_states =
    R"("states": {"sum": {"dtype": "int64", "initial": 1000}, "seen": {"dtype": "float32", "shape": [2]}})";

/// Writes one sequence for each length: frame f of sequence i is 100 i + f.
inline void write_sequences(const std::string& path, const std::vector<std::int64_t>& lengths) {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::int64_t> frames(static_cast<std::size_t>(lengths[i]));
    std::iota(frames.begin(), frames.end(), 100 * static_cast<std::int64_t>(i));
    records.push_back(encode_example({{"x", frames}}));
  }
  ASSERT_TRUE(write_records(path, records).ok());
}

inline Json sequences_document(const Folder& folder, const std::string& steps, const std::string& more = "") {
  return testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder.file("a") + R"("]}},
    "decode": {"example": {"features": {"x": {"kind": "var_len", "dtype": "int64"}}}}, "steps": [)" +
                        steps + "]" + more + "}");
}

/// A document of 23 sequences of up to 11 frames, in segments of 3.
class StatefulRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::int64_t i = 0; i < 23; ++i) lengths_.push_back(1 + i * 7 % 11);
    write_sequences(folder_.file("a"), lengths_);
  }
  [[nodiscard]] Json document(const std::string& more = "",
                              const std::string& shuffle = R"({"shuffle": {"buffer": 9}})",
                              const std::string& states = two_states) const {
    return sequences_document(
        folder_, shuffle + R"(, {"unroll": {"num_unroll": 3}}, {"stateful": {"batch_size": 4, )" + states + "}}",
        R"(, "seed": 3)" + more);
  }

  std::vector<std::int64_t> lengths_;
  Folder folder_;
};

inline Tensor tensor_of(std::vector<std::int64_t>& values) {
  return {.dtype = DType::int64,
          .shape = {std::ssize(values)},
          .data = reinterpret_cast<std::byte*>(values.data()),
          .owner = {}};
}

inline Tensor tensor_of(std::vector<float>& values) {
  return {.dtype = DType::float32,
          .shape = {std::ssize(values) / 2, 2},
          .data = reinterpret_cast<std::byte*>(values.data()),
          .owner = {}};
}

/// A step of training: the sum of the frames of each row goes on, and `seen` counts segments and frames. Returns the
/// states that it got and the batch as a line.
inline std::string train(const Batch& batch) {
  const auto sum = batch.state("sum");
  const auto seen = batch.state("seen");
  if (!sum.ok()) return "error: " + sum.error().text();
  if (!seen.ok()) return "error: " + seen.error().text();
  std::vector<std::int64_t> sums{sum->as<std::int64_t>().begin(), sum->as<std::int64_t>().end()};
  std::vector<float> counts{seen->as<float>().begin(), seen->as<float>().end()};
  std::string line = testing::text_of(batch);
  for (const std::int64_t value : sums) line += " " + std::to_string(value);
  for (const float value : counts) line += " " + std::to_string(value);
  const std::span<const std::int64_t> x = batch.tensor("x").as<std::int64_t>();
  for (std::size_t row = 0; row < sums.size(); ++row) {
    const auto frames = x.subspan(row * 3, 3);
    sums[row] = std::accumulate(frames.begin(), frames.end(), sums[row]);
    counts[2 * row] += 1;
    for (const BatchSpan& span : batch.spans(static_cast<std::int64_t>(row)))
      counts[2 * row + 1] += static_cast<float>(span.length);
  }
  EXPECT_TRUE(batch.save_state("seen", tensor_of(counts)).ok());
  const auto saved = batch.save_state("sum", tensor_of(sums));
  return saved.ok() ? line : "error: " + saved.error().text();
}

inline TrainedLines trained(Loader& loader, std::int64_t batches = -1) {
  TrainedLines out;
  while (batches-- != 0) {
    const auto batch = loader.next();
    if (!batch.ok()) return out.push_back("error: " + batch.error().text()), out;
    if (!*batch) return out;
    out.push_back(train(**batch));
  }
  return out;
}

}  // namespace forebay::stateful_runs
