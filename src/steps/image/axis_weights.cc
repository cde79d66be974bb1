// SPDX-License-Identifier: Apache-2.0
#include "steps/image/axis_weights.h"

#include <algorithm>
#include <cmath>

namespace forebay::steps {

namespace {

/// The weight of an input at distance `off` of an output, both in steps of the filter.
double weight_of(ResizeMethod method, double off) {
  constexpr double a = -0.5;
  if (method != ResizeMethod::antialias_bicubic) return std::max(0.0, 1 - off);
  if (off < 1) return ((a + 2) * off - (a + 3)) * off * off + 1;
  return off < 2 ? ((a * off - 5 * a) * off + 8 * a) * off - 4 * a : 0;
}

/// The share of input `at` that lies between `begin` and `end`.
double overlap_of(std::int64_t at, double begin, double end) {
  const auto left = static_cast<double>(at);
  return std::max(0.0, std::min(end, left + 1) - std::max(begin, left));
}

std::int64_t whole_below(double at) {  // std::floor is a call on processors without SSE4.1
  const auto out = static_cast<std::int64_t>(at);
  return static_cast<double>(out) > at ? out - 1 : out;
}

}  // namespace

void AxisWeights::set(ResizeMethod method, std::int64_t size, double from, double length, std::int64_t outputs) {
  const double step = length / static_cast<double>(outputs);
  const bool area = method == ResizeMethod::area;
  const bool nearest = method == ResizeMethod::nearest;
  const double unit = method == ResizeMethod::bilinear ? 1 : std::max(step, 1.0);  // of the filter
  negative_ = method == ResizeMethod::antialias_bicubic;
  const double half = area || nearest ? step / 2 : negative_ ? 2 * unit : unit;
  stride_ = nearest ? 2 : std::min(size, whole_below(2 * half) + 2);
  stride_ += stride_ % 2;
  max_taps_ = 1;
  places_.resize(static_cast<std::size_t>(outputs));
  weights_.resize(static_cast<std::size_t>(outputs * stride_));
  float* weights = weights_.data();
  for (std::int64_t i = 0; i < outputs; ++i, weights += stride_) {
    const double center = from + (static_cast<double>(i) + 0.5) * step;
    std::int64_t begin = whole_below(center - half + 0.5), end = whole_below(center + half + 0.5);
    if (nearest) begin = whole_below(center), end = begin + 1;
    if (area) begin = whole_below(center - half), end = -whole_below(-center - half);
    begin = std::clamp<std::int64_t>(begin, 0, size - 1);
    end = std::clamp<std::int64_t>(end, begin + 1, std::min(size, begin + stride_));
    double sum = 0;
    for (std::int64_t at = begin; at < end; ++at) {
      double weight = 1;
      if (area) weight = overlap_of(at, center - half, center + half);
      if (!area && !nearest) weight = weight_of(method, std::abs(static_cast<double>(at) + 0.5 - center) / unit);
      weights[at - begin] = static_cast<float>(weight);
      sum += weight;
    }
    if (sum == 0) weights[0] = 1, sum = 1;
    const auto share = static_cast<float>(1 / sum);
    for (std::int64_t k = 0; k < end - begin; ++k) weights[k] *= share;
    places_[static_cast<std::size_t>(i)] = {.begin = begin, .count = end - begin};
    max_taps_ = std::max(max_taps_, end - begin);
  }
}

void AxisWeights::fix() {
  constexpr auto one = static_cast<float>(1 << fixed_bits);
  fixed_stride_ = max_taps_ + max_taps_ % 2;
  fixed_.assign(places_.size() * static_cast<std::size_t>(fixed_stride_), 0);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const float* const weights = weights_.data() + i * static_cast<std::size_t>(stride_);
    std::int16_t* const fixed = fixed_.data() + i * static_cast<std::size_t>(fixed_stride_);
    int left = 1 << fixed_bits;
    std::int64_t largest = 0;
    for (std::int64_t k = 0; k < places_[i].count; ++k) {
      fixed[k] = static_cast<std::int16_t>(static_cast<int>(weights[k] * one + (weights[k] < 0 ? -0.5F : 0.5F)));
      left -= fixed[k];
      if (fixed[k] > fixed[largest]) largest = k;
    }
    fixed[largest] = static_cast<std::int16_t>(fixed[largest] + left);
  }
}

std::int64_t AxisWeights::max_overlap() const {
  std::int64_t most = 1;
  std::size_t first = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    while (places_[first].begin + places_[first].count <= places_[i].begin) ++first;
    most = std::max(most, static_cast<std::int64_t>(i - first + 1));
  }
  return most;
}

}  // namespace forebay::steps
