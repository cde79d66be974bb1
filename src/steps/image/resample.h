// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/steps/decode_image.h>

namespace forebay::steps {

/// How pixels become elements: value · factor + offset for each channel, of floats only.
struct PixelValues {
  std::array<float, 4> factor{1, 1, 1, 1};
  std::array<float, 4> offset{};
  bool plain = true;  ///< All factors are 1 and all offsets 0.
};

/// Where pixels go: the element of pixel (x, y), channel c is `first + y · row + x · column + c · channel`. Negative
/// steps mirror, and exchanged ones turn.
struct PixelTarget {
  std::byte* elements = nullptr;
  DType dtype = DType::uint8;  ///< uint8, uint16 or float32.
  std::int64_t first = 0, row = 0, column = 0, channel = 1;
  PixelValues values = {};
};

/// A row of pixels: 1 byte for each channel, or 2.
struct RowForm {
  std::int64_t width = 0;  ///< Pixels.
  int channels = 3;
  bool wide = false;
};

/// The weights of one axis of a resize: output i is the sum of `count` inputs from `begin` on.
class AxisWeights {
 public:
  struct Taps {
    std::int64_t begin = 0, count = 0;
    const float* weights = nullptr;
  };
  /// Maps `length` from `from` on, in an axis of `size` inputs, to `outputs` outputs.
  void set(ResizeMethod method, std::int64_t size, double from, double length, std::int64_t outputs);
  [[nodiscard]] Taps of(std::int64_t output) const {
    const Place& at = places_[static_cast<std::size_t>(output)];
    return {at.begin, at.count, weights_.data() + at.weights};
  }
  [[nodiscard]] std::int64_t outputs() const { return static_cast<std::int64_t>(places_.size()); }
  /// Outputs that need one and the same input, at most.
  [[nodiscard]] std::int64_t max_overlap() const;

 private:
  struct Place {
    std::int64_t begin, count;
    std::size_t weights;
  };
  std::vector<Place> places_;
  std::vector<float> weights_;
};

/// Resizes an image whose rows come one after the other. Holds sums for as many output rows as one input row goes into.
///
///     input row y ─► weighted into the sums of output rows i … j ─► row i is complete: its columns are weighted,
///     written
class Resampler {
 public:
  /// `rows` and `columns` must outlive the last `add`.
  void begin(const AxisWeights& rows, const AxisWeights& columns, const RowForm& form, const PixelTarget& target);
  void add(const std::byte* row);  ///< The next input row.
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(sums_.capacity() * sizeof(float)); }

 private:
  [[nodiscard]] float* sum_of(std::int64_t output) { return sums_.data() + (output % held_) * width_; }
  template <class Input>
  void sum(const Input* row, std::int64_t y);
  void write(std::int64_t output);
  template <class Element>
  void write_as(const float* sums, std::int64_t output) const;
  template <int channels, class Element>
  void write_row(const float* sums, std::int64_t output) const;

  const AxisWeights* rows_ = nullptr;
  const AxisWeights* columns_ = nullptr;
  PixelTarget target_;
  RowForm form_;
  std::int64_t width_ = 0;  // numbers of a row
  std::int64_t held_ = 1;   // output rows in sums_
  std::int64_t next_input_ = 0;
  std::int64_t next_output_ = 0;  // not written yet
  std::vector<float> sums_;
};

/// Writes a row of pixels as it is.
void copy_pixels(const std::byte* pixels, const RowForm& form, std::int64_t row, const PixelTarget& target);

}  // namespace forebay::steps
