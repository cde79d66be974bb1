// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <forebay/state_saver.h>

namespace forebay::tests {

/// A tensor of int32 with memory of its own. Without an owner it is copied by `insert`; the vector must then stay.
inline Tensor tensor_of(std::vector<std::int32_t>& values, std::vector<std::int64_t> shape) {
  return {.dtype = DType::int32, .shape = Shape{std::move(shape)}, .data = reinterpret_cast<std::byte*>(values.data())};
}

/// One sequence "x" of int32 and one state "h" of one int32.
inline StateSaverOptions one_sequence(std::int64_t batch_size, std::int64_t num_unroll) {
  return {.batch_size = batch_size,
          .num_unroll = num_unroll,
          .sequences = {{.name = "x", .dtype = DType::int32}},
          .states = {{.name = "h", .dtype = DType::int32, .shape = {1}}}};
}

inline StateSaver saver_of(const StateSaverOptions& options) {
  auto saver = StateSaver::make(options);
  EXPECT_TRUE(saver.ok()) << saver.error().text();
  return *std::move(saver);
}

/// An example "key" with the frames first, first + 1 ….
inline Result<bool> insert_frames(StateSaver& saver, const std::string& key, std::int64_t frames,
                                  std::int32_t first = 0, std::chrono::milliseconds wait = StateSaver::forever) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(frames));
  std::iota(values.begin(), values.end(), first);
  return saver.insert({.key = key, .length = frames, .sequences = {tensor_of(values, {frames})}}, wait);
}

inline std::vector<std::int32_t> values_of(const Tensor& tensor) {
  const auto all = tensor.as<std::int32_t>();
  return {all.begin(), all.end()};
}

inline std::vector<std::string> keys_of(const SegmentBatch& batch) {
  std::vector<std::string> out;
  for (std::int64_t row = 0; row < batch.rows(); ++row) out.push_back(batch.key(row));
  return out;
}

/// Saves "h" of every row, made larger by `add`.
inline Result<void> save_more(const SegmentBatch& batch, std::int32_t add = 1) {
  std::vector<std::int32_t> values = values_of(*batch.state("h"));
  for (std::int32_t& value : values) value += add;
  return batch.save_state("h", tensor_of(values, {batch.rows(), 1}));
}

/// `take` without a wait: the batch, or an empty optional at the end and when nothing is ready.
inline std::optional<SegmentBatch> take_now(StateSaver& saver, std::optional<std::int64_t> size = {}) {
  auto taken = saver.take(size, std::chrono::milliseconds{0});
  EXPECT_TRUE(taken.ok()) << taken.error().text();
  if (!taken.ok() || taken->got != TakenSegments::Got::batch) return std::nullopt;
  return std::move(taken->batch);
}

}  // namespace forebay::tests
