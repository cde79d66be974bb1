// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/steps/decode_image.h>

#include "steps/image/axis_weights.h"

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

/// Resizes an image whose rows come one after the other.
///
///     8 bits to uint8:  input rows ─► the last few are held ─► row i: sum of its rows, then of its columns, as
///     integers otherwise:        input row y ─► its columns are summed ─► weighted into the sums of output rows i … j,
///     as floats
class Resampler {
 public:
  /// `rows` and `columns` must outlive the last `add`.
  void begin(AxisWeights& rows, AxisWeights& columns, const RowForm& form, const PixelTarget& target);
  /// Where the next input row may be written before it is added; null: anywhere.
  [[nodiscard]] std::byte* place();
  void add(const std::byte* row);  ///< The next input row.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  void add_bytes(const std::byte* row, std::int64_t y);
  void write_bytes(std::int64_t output);
  template <class Input>
  void sum_line(const Input* row);
  void add_line(std::int64_t y);
  [[nodiscard]] float* sum_of(std::int64_t output) { return sums_.data() + (output % held_) * width_; }
  template <class Element>
  void write_line(const float* sums, std::int64_t output) const;

  const AxisWeights* rows_ = nullptr;
  const AxisWeights* columns_ = nullptr;
  PixelTarget target_;
  RowForm form_;
  bool bytes_ = false;      // the integer sums are used
  std::int64_t width_ = 0;  // numbers of an output row
  std::int64_t held_ = 1;   // output rows in sums_, or input rows in ring_
  std::int64_t next_input_ = 0;
  std::int64_t next_output_ = 0;  // not written yet
  std::vector<float> input_, line_, sums_;
  std::int64_t pitch_ = 0;  // bytes from one row of ring_ to the next
  std::vector<std::uint8_t> ring_;
  std::vector<const std::uint8_t*> taps_;  // rows of one output
  std::vector<std::int16_t> between_;
  std::vector<std::uint8_t> pixels_;  // an output row, where channels lie apart
};

/// Writes a row of pixels as it is.
void copy_pixels(const std::byte* pixels, const RowForm& form, std::int64_t row, const PixelTarget& target);

}  // namespace forebay::steps
