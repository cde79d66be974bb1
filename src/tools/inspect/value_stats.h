// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "tools/inspect/top_values.h"

/// What `inspect` counts of values. Parts are merged in the order of the files, so sums do not depend on threads.
namespace forebay::tools {

/// Counts such as the number of values in a record.
struct Lengths {
  std::int64_t count = 0, sum = 0;
  std::int64_t min = std::numeric_limits<std::int64_t>::max(), max = 0;

  void add(std::int64_t length) {
    ++count;
    sum += length;
    min = std::min(min, length);
    max = std::max(max, length);
  }
  void merge(const Lengths& other) {
    count += other.count;
    sum += other.sum;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  [[nodiscard]] bool same() const { return count > 0 && min == max; }
};

/// Of a record, only so many values are looked up among the top values.
inline constexpr std::size_t max_top_values_of_record = 64;

struct IntegerStats {
  std::int64_t count = 0;
  std::int64_t min = std::numeric_limits<std::int64_t>::max(), max = std::numeric_limits<std::int64_t>::min();
  double sum = 0;
  TopValues<std::int64_t> top;
  std::int64_t looked_up = 0;  ///< Values that `top` has counted.

  /// The values of one record, or some of them: `seen` come before.
  void add(std::span<const std::int64_t> values, std::size_t seen = 0);
  void merge(const IntegerStats& other);
};

struct FloatStats {
  std::int64_t count = 0, nans = 0, infinities = 0;
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
  double sum = 0;  ///< Of the finite values, as are `min` and `max`.

  void add(std::span<const float> values) { add_all(values); }
  void add(std::span<const double> values) { add_all(values); }
  void merge(const FloatStats& other);

 private:
  template <class Number>
  void add_all(std::span<const Number> values);
};

/// What the text of all fields of a column can be read as.
struct NumberTexts {
  std::int64_t texts = 0, integers = 0, floats = 0, bools = 0;
  bool wide = false;  ///< A float has more digits than a float32 holds, or is out of its range.

  void add(std::string_view text);
  void merge(const NumberTexts& other);
};

/// The number that a text is, blanks around it left out; NaN when it is none.
[[nodiscard]] double number_of(std::string_view text);

/// Kinds of content that the first bytes of a string show.
inline constexpr std::array<std::string_view, 12> content_formats{"jpeg", "png", "gif", "webp", "bmp", "wav",
                                                                  "flac", "ogg", "mp3", "npy",  "zip", "gzip"};
/// The number of the format in `content_formats`, or their number.
[[nodiscard]] std::size_t content_format(std::string_view bytes);

struct StringStats {
  static constexpr std::size_t longest_top = 64;  ///< Longer strings are never among the top values.

  Lengths bytes;
  std::int64_t utf8 = 0;  ///< Strings that are well-formed UTF-8 without NUL.
  std::int64_t longer = 0;
  std::array<std::int64_t, content_formats.size()> formats{};
  TopValues<std::string> top;
  NumberTexts numbers;  ///< Only of columns of text.

  void add(std::string_view value);
  void merge(const StringStats& other);
};

}  // namespace forebay::tools
