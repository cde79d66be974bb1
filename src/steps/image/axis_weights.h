// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <forebay/steps/decode_image.h>

namespace forebay::steps {

/// The weights of one axis of a resize: output i is the sum of `count` inputs from `begin` on.
class AxisWeights {
 public:
  /// Weights as integers add up to this number, exactly.
  static constexpr int fixed_bits = 14;

  struct Taps {
    std::int64_t begin = 0, count = 0;
    const float* weights = nullptr;
    const std::int16_t* fixed = nullptr;  ///< As integers; after an odd number of them comes a 0. See `fix`.
  };
  /// Maps `length` from `from` on, in an axis of `size` inputs, to `outputs` outputs.
  void set(ResizeMethod method, std::int64_t size, double from, double length, std::int64_t outputs);
  void fix();  ///< Computes the weights as integers.
  [[nodiscard]] Taps of(std::int64_t output) const {
    const Place& at = places_[static_cast<std::size_t>(output)];
    return {at.begin, at.count, weights_.data() + output * stride_, fixed_.data() + output * fixed_stride_};
  }
  [[nodiscard]] std::int64_t outputs() const { return static_cast<std::int64_t>(places_.size()); }
  [[nodiscard]] std::int64_t max_taps() const { return max_taps_; }  ///< Inputs of one output, at most.
  /// Integer weights of each output, an even number; those after `count` are 0.
  [[nodiscard]] std::int64_t fixed_taps() const { return fixed_stride_; }
  [[nodiscard]] bool negative() const { return negative_; }  ///< Some weights may be below 0.
  /// Outputs that need one and the same input, at most.
  [[nodiscard]] std::int64_t max_overlap() const;

 private:
  struct Place {
    std::int64_t begin, count;
  };
  std::vector<Place> places_;
  std::vector<float> weights_;  // `stride_` for each output
  std::vector<std::int16_t> fixed_;
  std::int64_t stride_ = 0;
  std::int64_t fixed_stride_ = 0;
  std::int64_t max_taps_ = 0;
  bool negative_ = false;
};

}  // namespace forebay::steps
