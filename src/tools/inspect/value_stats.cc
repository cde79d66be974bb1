// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/value_stats.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include <fast_float/fast_float.h>

#include "config/utf8.h"

namespace forebay::tools {

namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

bool is_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

}  // namespace

void IntegerStats::add(std::span<const std::int64_t> values, std::size_t seen) {
  for (const std::int64_t value : values) {
    min = std::min(min, value);
    max = std::max(max, value);
    sum += static_cast<double>(value);
  }
  count += std::ssize(values);
  const std::size_t left = seen < max_top_values_of_record ? max_top_values_of_record - seen : 0;
  const std::span<const std::int64_t> first = values.first(std::min(values.size(), left));
  for (const std::int64_t value : first) top.add(value);
  looked_up += std::ssize(first);
}

void IntegerStats::merge(const IntegerStats& other) {
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
  top.merge(other.top);
  looked_up += other.looked_up;
}

template <class Number>
void FloatStats::add_all(std::span<const Number> values) {
  for (const Number number : values) {
    const double value = number;
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? nans : infinities);
      continue;
    }
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
  }
  count += std::ssize(values);
}
template void FloatStats::add_all(std::span<const float>);
template void FloatStats::add_all(std::span<const double>);

void FloatStats::merge(const FloatStats& other) {
  count += other.count;
  nans += other.nans;
  infinities += other.infinities;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
}

void NumberTexts::add(std::string_view text) {
  ++texts;
  const std::string_view word = without_blanks(text);
  if (word == "true" || word == "false") ++bools;
  if (is_integer(word)) {
    ++integers;
    ++floats;
    wide = wide || word.size() > 8;
    return;
  }
  double value = 0;
  const auto read = fast_float::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || read.ec != std::errc{} || read.ptr != word.data() + word.size()) return;
  ++floats;
  const auto digits = std::count_if(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  const double size = std::abs(value);
  wide = wide || digits > 7 || (std::isfinite(size) && (size > 3.0e38 || (size != 0 && size < 1.2e-38)));
}

double number_of(std::string_view text) {
  const std::string_view word = without_blanks(text);
  double value = 0;
  const auto read = fast_float::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = read.ec == std::errc{} && read.ptr == word.data() + word.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

void NumberTexts::merge(const NumberTexts& other) {
  texts += other.texts;
  integers += other.integers;
  floats += other.floats;
  bools += other.bools;
  wide = wide || other.wide;
}

std::size_t content_format(std::string_view bytes) {
  using namespace std::string_view_literals;
  struct Magic {
    std::size_t format;
    std::string_view at_0;
    std::string_view at_8 = {};
  };
  constexpr std::array magics{Magic{0, "\xff\xd8\xff"sv},   Magic{1, "\x89PNG\r\n\x1a\n"sv},
                              Magic{2, "GIF87a"sv},         Magic{2, "GIF89a"sv},
                              Magic{3, "RIFF"sv, "WEBP"sv}, Magic{5, "RIFF"sv, "WAVE"sv},
                              Magic{5, "RF64"sv, "WAVE"sv}, Magic{6, "fLaC"sv},
                              Magic{7, "OggS"sv},           Magic{8, "ID3"sv},
                              Magic{8, "\xff\xfb"sv},       Magic{9, "\x93NUMPY"sv},
                              Magic{10, "PK\x03\x04"sv},    Magic{11, "\x1f\x8b\x08"sv}};
  for (const Magic& magic : magics) {
    if (!bytes.starts_with(magic.at_0)) continue;
    if (magic.at_8.empty() || (bytes.size() >= 12 && bytes.substr(8).starts_with(magic.at_8))) return magic.format;
  }
  // "BM" alone begins many texts: the four zeros behind the size are those of the header.
  if (bytes.size() > 14 && bytes.starts_with("BM") && bytes.substr(6, 4) == "\0\0\0\0"sv) return 4;
  return content_formats.size();
}

void StringStats::add(std::string_view value) {
  bytes.add(std::ssize(value));
  if (value.find('\0') == std::string_view::npos && config::is_utf8(value)) ++utf8;
  const std::size_t format = content_format(value);
  if (format < formats.size()) ++formats[format];
  if (value.size() <= longest_top) {
    top.add(value);
  } else {
    ++longer;
  }
}

void StringStats::merge(const StringStats& other) {
  bytes.merge(other.bytes);
  utf8 += other.utf8;
  longer += other.longer;
  for (std::size_t i = 0; i < formats.size(); ++i) formats[i] += other.formats[i];
  top.merge(other.top);
  numbers.merge(other.numbers);
}

}  // namespace forebay::tools
