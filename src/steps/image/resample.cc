// SPDX-License-Identifier: Apache-2.0
#include "steps/image/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace forebay::steps {

namespace {

using FourFloats [[gnu::vector_size(16)]] = float;

/// The element of a value: rounded and limited to the range of an integer.
template <class Element>
Element element_of(float value, const PixelValues& values, std::size_t channel) {
  if constexpr (std::is_integral_v<Element>) {
    constexpr auto max = static_cast<float>(std::numeric_limits<Element>::max());
    return static_cast<Element>(static_cast<std::int32_t>(std::clamp(value, 0.0F, max) + 0.5F));
  } else {
    return value * values.factor[channel] + values.offset[channel];
  }
}

template <class Input, class Element>
void copy_as(const std::byte* pixels, const RowForm& form, std::int64_t row, const PixelTarget& target) {
  const auto* in = reinterpret_cast<const Input*>(pixels);
  auto* const out = reinterpret_cast<Element*>(target.elements) + target.first + row * target.row;
  for (std::int64_t x = 0; x < form.width; ++x) {
    for (int c = 0; c < form.channels; ++c, ++in) {
      Element& to = out[x * target.column + c * target.channel];
      if constexpr (std::is_integral_v<Element>) {
        to = static_cast<Element>(*in);
      } else {
        to = element_of<Element>(static_cast<float>(*in), target.values, static_cast<std::size_t>(c));
      }
    }
  }
}

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

}  // namespace

void AxisWeights::set(ResizeMethod method, std::int64_t size, double from, double length, std::int64_t outputs) {
  places_.clear();
  weights_.clear();
  const double step = length / static_cast<double>(outputs);
  const bool exact = method == ResizeMethod::area || method == ResizeMethod::nearest;
  const double unit = method == ResizeMethod::bilinear ? 1 : std::max(step, 1.0);  // of the filter
  const double half = exact ? step / 2 : method == ResizeMethod::antialias_bicubic ? 2 * unit : unit;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const double center = from + (static_cast<double>(i) + 0.5) * step;
    const auto floor = [](double at) { return static_cast<std::int64_t>(std::floor(at)); };
    std::int64_t begin = floor(center - half + 0.5), end = floor(center + half + 0.5);
    if (method == ResizeMethod::nearest) begin = floor(center), end = begin + 1;
    if (method == ResizeMethod::area) begin = floor(center - half), end = floor(std::ceil(center + half));
    begin = std::clamp<std::int64_t>(begin, 0, size - 1);
    end = std::clamp<std::int64_t>(end, begin + 1, size);
    places_.push_back({.begin = begin, .count = end - begin, .weights = weights_.size()});
    double sum = 0;
    for (std::int64_t at = begin; at < end; ++at) {
      double weight = 1;
      if (method == ResizeMethod::area) weight = overlap_of(at, center - half, center + half);
      if (!exact) weight = weight_of(method, std::abs(static_cast<double>(at) + 0.5 - center) / unit);
      weights_.push_back(static_cast<float>(weight));
      sum += weight;
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

void Resampler::begin(const AxisWeights& rows, const AxisWeights& columns, const RowForm& form,
                      const PixelTarget& target) {
  rows_ = &rows;
  columns_ = &columns;
  target_ = target;
  form_ = form;
  width_ = form.width * form.channels;
  held_ = rows.max_overlap();
  next_input_ = next_output_ = 0;
  sums_.resize(static_cast<std::size_t>(held_ * width_) + 1);  // the last pixel is read as four numbers
}

template <class Input>
void Resampler::sum(const Input* row, std::int64_t y) {
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
}

void Resampler::add(const std::byte* row) {
  const std::int64_t y = next_input_++;
  if (form_.wide) {
    sum(reinterpret_cast<const std::uint16_t*>(row), y);
  } else {
    sum(reinterpret_cast<const std::uint8_t*>(row), y);
  }
  for (; next_output_ < rows_->outputs(); ++next_output_) {
    const auto taps = rows_->of(next_output_);
    if (taps.begin + taps.count > y + 1) break;
    write(next_output_);
  }
}

void Resampler::write(std::int64_t output) {
  const float* const sums = sum_of(output);
  if (target_.dtype == DType::uint8) return write_as<std::uint8_t>(sums, output);
  if (target_.dtype == DType::uint16) return write_as<std::uint16_t>(sums, output);
  write_as<float>(sums, output);
}

template <class Element>
void Resampler::write_as(const float* sums, std::int64_t output) const {
  switch (form_.channels) {
    case 1:
      return write_row<1, Element>(sums, output);
    case 2:
      return write_row<2, Element>(sums, output);
    case 3:
      return write_row<3, Element>(sums, output);
    default:
      return write_row<4, Element>(sums, output);
  }
}

template <int channels, class Element>
void Resampler::write_row(const float* sums, std::int64_t output) const {
  auto* out = reinterpret_cast<Element*>(target_.elements) + target_.first + output * target_.row;
  for (std::int64_t x = 0; x < columns_->outputs(); ++x, out += target_.column) {
    const auto taps = columns_->of(x);
    const float* in = sums + taps.begin * channels;
    if constexpr (channels <= 2) {
      std::array<float, channels> pixel{};
      for (std::int64_t k = 0; k < taps.count; ++k, in += channels) {
        for (std::size_t c = 0; c < channels; ++c) pixel[c] += taps.weights[k] * in[c];
      }
      for (std::size_t c = 0; c < channels; ++c)
        out[static_cast<std::int64_t>(c) * target_.channel] = element_of<Element>(pixel[c], target_.values, c);
    } else {  // of three numbers the fourth of a vector is the next pixel's, and is not used
      FourFloats pixel{};
      for (std::int64_t k = 0; k < taps.count; ++k, in += channels) {
        FourFloats four;
        std::memcpy(&four, in, sizeof(four));
        pixel += four * taps.weights[k];
      }
      for (std::size_t c = 0; c < channels; ++c)
        out[static_cast<std::int64_t>(c) * target_.channel] = element_of<Element>(pixel[c], target_.values, c);
    }
  }
}

void copy_pixels(const std::byte* pixels, const RowForm& form, std::int64_t row, const PixelTarget& target) {
  if (target.dtype == DType::uint8) return copy_as<std::uint8_t, std::uint8_t>(pixels, form, row, target);
  if (target.dtype == DType::uint16) {
    return form.wide ? copy_as<std::uint16_t, std::uint16_t>(pixels, form, row, target)
                     : copy_as<std::uint8_t, std::uint16_t>(pixels, form, row, target);
  }
  if (form.wide) return copy_as<std::uint16_t, float>(pixels, form, row, target);
  copy_as<std::uint8_t, float>(pixels, form, row, target);
}

}  // namespace forebay::steps
