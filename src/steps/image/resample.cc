// SPDX-License-Identifier: Apache-2.0
#include "steps/image/resample.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "steps/image/resample_bytes.h"

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

constexpr std::int64_t max_held_rows = 16;  // an image that is made much smaller is summed row by row

}  // namespace

std::int64_t Resampler::bytes() const {
  return static_cast<std::int64_t>((input_.capacity() + line_.capacity() + sums_.capacity()) * sizeof(float) +
                                   ring_.capacity() + between_.capacity() * sizeof(std::int16_t) + pixels_.capacity());
}

void Resampler::begin(AxisWeights& rows, AxisWeights& columns, const RowForm& form, const PixelTarget& target) {
  rows_ = &rows;
  columns_ = &columns;
  target_ = target;
  form_ = form;
  next_input_ = next_output_ = 0;
  width_ = columns.outputs() * form.channels;
  const auto in = static_cast<std::size_t>(form.width * form.channels);
  const auto out = static_cast<std::size_t>(width_);
  bytes_ = !form.wide && target.dtype == DType::uint8 && !rows.negative() && rows.max_taps() <= max_held_rows;
  if (!bytes_) {
    held_ = rows.max_overlap();
    input_.resize(in + 4);  // the last pixel is read as four numbers
    line_.resize(out);
    sums_.resize(static_cast<std::size_t>(held_) * out);
    return;
  }
  rows.fix();
  columns.fix();
  constexpr auto slack = static_cast<std::size_t>(ByteKernels::slack);
  held_ = rows.max_taps();
  pitch_ = static_cast<std::int64_t>(in + slack);
  ring_.resize(static_cast<std::size_t>(held_ * pitch_));
  taps_.resize(static_cast<std::size_t>(held_) + 1);
  between_.resize(in + slack);
  pixels_.resize(out);
}

std::byte* Resampler::place() {
  return bytes_ ? reinterpret_cast<std::byte*>(ring_.data() + next_input_ % held_ * pitch_) : nullptr;
}

void Resampler::add(const std::byte* row) {
  const std::int64_t y = next_input_++;
  if (bytes_) return add_bytes(row, y);
  form_.wide ? sum_line(reinterpret_cast<const std::uint16_t*>(row))
             : sum_line(reinterpret_cast<const std::uint8_t*>(row));
  add_line(y);
}

void Resampler::add_bytes(const std::byte* row, std::int64_t y) {
  auto* const held = reinterpret_cast<std::byte*>(ring_.data() + y % held_ * pitch_);
  if (row != held) std::memcpy(held, row, static_cast<std::size_t>(form_.width * form_.channels));
  for (; next_output_ < rows_->outputs(); ++next_output_) {
    const auto taps = rows_->of(next_output_);
    if (taps.begin + taps.count > y + 1) break;
    write_bytes(next_output_);
  }
}

void Resampler::write_bytes(std::int64_t output) {
  const ByteKernels& kernels = byte_kernels();
  const auto taps = rows_->of(output);
  const std::int64_t even = taps.count + taps.count % 2;  // the weight of the row that is added is 0
  for (std::int64_t k = 0; k < even; ++k) {
    const std::int64_t row = taps.begin + std::min(k, taps.count - 1);
    taps_[static_cast<std::size_t>(k)] = ring_.data() + row % held_ * pitch_;
  }
  kernels.sum_rows(taps_.data(), taps.fixed, even, form_.width * form_.channels, between_.data());
  auto* out = reinterpret_cast<std::uint8_t*>(target_.elements) + target_.first + output * target_.row;
  if (target_.channel == 1) {
    kernels.sum_columns(between_.data(), *columns_, form_.channels, out, target_.column);
    return;
  }
  kernels.sum_columns(between_.data(), *columns_, form_.channels, pixels_.data(), form_.channels);
  const std::uint8_t* in = pixels_.data();
  for (std::int64_t x = 0; x < columns_->outputs(); ++x, out += target_.column) {
    for (int c = 0; c < form_.channels; ++c) out[c * target_.channel] = *in++;
  }
}

template <class Input>
void Resampler::sum_line(const Input* row) {
  const auto count = static_cast<std::size_t>(form_.width * form_.channels);
  for (std::size_t i = 0; i < count; ++i) input_[i] = static_cast<float>(row[i]);
  float* out = line_.data();
  for (std::int64_t x = 0; x < columns_->outputs(); ++x, out += form_.channels) {
    const auto taps = columns_->of(x);
    const float* in = input_.data() + taps.begin * form_.channels;
    FourFloats pixel{};  // numbers after those of the pixel are not used
    for (std::int64_t k = 0; k < taps.count; ++k, in += form_.channels) {
      FourFloats four;
      std::memcpy(&four, in, sizeof(four));
      pixel += four * taps.weights[k];
    }
    for (int c = 0; c < form_.channels; ++c) out[c] = pixel[c];
  }
  if (!columns_->negative()) return;
  constexpr auto max = static_cast<float>(std::numeric_limits<Input>::max());
  for (float& value : line_) value = std::clamp(value, 0.0F, max);
}

void Resampler::add_line(std::int64_t y) {
  const auto count = static_cast<std::size_t>(width_);
  for (std::int64_t output = next_output_; output < rows_->outputs(); ++output) {
    const auto taps = rows_->of(output);
    if (taps.begin > y) break;
    const float weight = taps.weights[y - taps.begin];
    float* const sums = sum_of(output);
    if (taps.begin == y) {
      for (std::size_t i = 0; i < count; ++i) sums[i] = weight * line_[i];
    } else if (taps.begin + taps.count > y) {
      for (std::size_t i = 0; i < count; ++i) sums[i] += weight * line_[i];
    }
  }
  for (; next_output_ < rows_->outputs(); ++next_output_) {
    const auto taps = rows_->of(next_output_);
    if (taps.begin + taps.count > y + 1) break;
    const float* const sums = sum_of(next_output_);
    if (target_.dtype == DType::uint8) {
      write_line<std::uint8_t>(sums, next_output_);
    } else if (target_.dtype == DType::uint16) {
      write_line<std::uint16_t>(sums, next_output_);
    } else {
      write_line<float>(sums, next_output_);
    }
  }
}

template <class Element>
void Resampler::write_line(const float* sums, std::int64_t output) const {
  auto* out = reinterpret_cast<Element*>(target_.elements) + target_.first + output * target_.row;
  // A narrow image has no values above 255, in uint16 neither.
  const float max = form_.wide ? 65535 : 255;
  for (std::int64_t x = 0; x < columns_->outputs(); ++x, out += target_.column) {
    for (int c = 0; c < form_.channels; ++c) {
      const float value = columns_->negative() ? std::clamp(*sums, 0.0F, max) : *sums;
      out[c * target_.channel] = element_of<Element>(value, target_.values, static_cast<std::size_t>(c));
      ++sums;
    }
  }
}

void copy_pixels(const std::byte* pixels, const RowForm& form, std::int64_t row, const PixelTarget& target) {
  if (target.dtype == DType::uint8) {
    std::byte* const out = target.elements + target.first + row * target.row;
    if (pixels == out) return;
    if (target.column == form.channels && target.channel == 1) {
      std::memcpy(out, pixels, static_cast<std::size_t>(form.width * form.channels));
      return;
    }
    return copy_as<std::uint8_t, std::uint8_t>(pixels, form, row, target);
  }
  if (target.dtype == DType::uint16) {
    return form.wide ? copy_as<std::uint16_t, std::uint16_t>(pixels, form, row, target)
                     : copy_as<std::uint8_t, std::uint16_t>(pixels, form, row, target);
  }
  if (form.wide) return copy_as<std::uint16_t, float>(pixels, form, row, target);
  copy_as<std::uint8_t, float>(pixels, form, row, target);
}

}  // namespace forebay::steps
