// SPDX-License-Identifier: Apache-2.0
#include "steps/image/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace forebay::steps {

namespace {

using FourFloats [[gnu::vector_size(16)]] = float;

template <class Element>
Element element_of(float value) {
  if constexpr (sizeof(Element) == 1) {  // a mean of bytes: at most 255 and some rounding
    return static_cast<Element>(static_cast<std::int32_t>(value + 0.5F));
  } else {
    return value;
  }
}

template <class Element>
void copy_as(const std::uint8_t* pixels, std::int64_t width, int channels, std::int64_t row,
             const PixelTarget& target) {
  auto* const out = reinterpret_cast<Element*>(target.elements) + target.first + row * target.row;
  for (std::int64_t x = 0; x < width; ++x) {
    for (int c = 0; c < channels; ++c) out[x * target.column + c * target.channel] = static_cast<Element>(*pixels++);
  }
}

}  // namespace

void AxisWeights::set(std::int64_t size, double from, double length, std::int64_t outputs) {
  places_.clear();
  weights_.clear();
  const double step = length / static_cast<double>(outputs);
  const double half = std::max(step, 1.0);  // of the triangle
  for (std::int64_t i = 0; i < outputs; ++i) {
    const double center = from + (static_cast<double>(i) + 0.5) * step;
    const auto begin =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center - half + 0.5)), 0, size - 1);
    const auto end =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center + half + 0.5)), begin + 1, size);
    places_.push_back({.begin = begin, .count = end - begin, .weights = weights_.size()});
    double sum = 0;
    for (std::int64_t at = begin; at < end; ++at) {
      const double off = std::abs(static_cast<double>(at) + 0.5 - center) / half;
      weights_.push_back(static_cast<float>(std::max(0.0, 1 - off)));
      sum += weights_.back();
    }
    float* const weights = weights_.data() + places_.back().weights;
    if (sum == 0) weights[0] = 1, sum = 1;
    for (std::int64_t k = 0; k < end - begin; ++k) weights[k] = static_cast<float>(weights[k] / sum);
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

void Resampler::begin(const AxisWeights& rows, const AxisWeights& columns, std::int64_t width, int channels,
                      const PixelTarget& target) {
  rows_ = &rows;
  columns_ = &columns;
  target_ = target;
  channels_ = channels;
  width_ = width * channels;
  held_ = rows.max_overlap();
  next_input_ = next_output_ = 0;
  sums_.resize(static_cast<std::size_t>(held_ * width_) + 1);  // the last pixel is read as four numbers
}

void Resampler::add(const std::uint8_t* row) {
  const std::int64_t y = next_input_++;
  for (std::int64_t output = next_output_; output < rows_->outputs(); ++output) {
    const auto taps = rows_->of(output);
    if (taps.begin > y) break;
    const float weight = taps.weights[y - taps.begin];
    float* const sums = sum_of(output);
    const auto count = static_cast<std::size_t>(width_);
    if (taps.begin == y) {
      for (std::size_t i = 0; i < count; ++i) sums[i] = weight * static_cast<float>(row[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<float>(row[i]);
    }
  }
  for (; next_output_ < rows_->outputs(); ++next_output_) {
    const auto taps = rows_->of(next_output_);
    if (taps.begin + taps.count > y + 1) break;
    write(next_output_);
  }
}

void Resampler::write(std::int64_t output) {
  const float* const sums = sum_of(output);
  const bool bytes = target_.dtype == DType::uint8;
  if (channels_ == 1) return bytes ? write_row<1, std::uint8_t>(sums, output) : write_row<1, float>(sums, output);
  return bytes ? write_row<3, std::uint8_t>(sums, output) : write_row<3, float>(sums, output);
}

template <int channels, class Element>
void Resampler::write_row(const float* sums, std::int64_t output) const {
  auto* out = reinterpret_cast<Element*>(target_.elements) + target_.first + output * target_.row;
  for (std::int64_t x = 0; x < columns_->outputs(); ++x, out += target_.column) {
    const auto taps = columns_->of(x);
    const float* in = sums + taps.begin * channels;
    if constexpr (channels == 1) {
      float pixel = 0;
      for (std::int64_t k = 0; k < taps.count; ++k) pixel += taps.weights[k] * in[k];
      *out = element_of<Element>(pixel);
    } else {  // the fourth number of a vector is the next pixel's, and is not used
      FourFloats pixel{};
      for (std::int64_t k = 0; k < taps.count; ++k, in += channels) {
        FourFloats four;
        std::memcpy(&four, in, sizeof(four));
        pixel += four * taps.weights[k];
      }
      for (int c = 0; c < channels; ++c) out[c * target_.channel] = element_of<Element>(pixel[c]);
    }
  }
}

void copy_pixels(const std::uint8_t* pixels, std::int64_t width, int channels, std::int64_t row,
                 const PixelTarget& target) {
  if (target.dtype == DType::uint8) return copy_as<std::uint8_t>(pixels, width, channels, row, target);
  copy_as<float>(pixels, width, channels, row, target);
}

}  // namespace forebay::steps
