// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <forebay/json.h>
#include <forebay/window.h>

namespace forebay::windows {
WindowType chunk();
WindowType chunk_function();
WindowType context();
WindowType continuous();
WindowType discrete();
WindowType unbatch();
WindowType unroll();
}  // namespace forebay::windows

namespace forebay::testing {

/// A schema of int64 columns of unknown length.
inline Schema sequences(const std::vector<std::string>& names) {
  Schema out;
  for (const std::string& name : names) out.put({.name = name, .dtype = DType::int64, .shape = {unknown_dim}});
  return out;
}

inline Windowing bound(const WindowType& type, const std::string& options, const std::vector<std::string>& names,
                       const Windowing* before = nullptr) {
  const auto json = parse_json(options);
  EXPECT_TRUE(json.ok());
  auto out = type.bind(*json, sequences(names), before);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return out.ok() ? *std::move(out) : Windowing{};
}

/// The message of the fault that binding finds.
inline std::string fault(const WindowType& type, const std::string& options, const Schema& in,
                         const Windowing* before = nullptr) {
  const auto json = parse_json(options);
  EXPECT_TRUE(json.ok());
  const auto out = type.bind(*json, in, before);
  return out.ok() ? "none" : out.error().text();
}

/// Lengths of the elements of a part, [elements, keys].
struct Lengths {
  std::vector<std::int64_t> values;
  std::size_t keys = 1;
  WindowPlace place = {};

  [[nodiscard]] std::size_t elements() const { return values.size() / keys; }
};

/// All windows of a part, in one call.
inline Result<SpanTable> cut_all(const Windowing& windowing, const Lengths& lengths) {
  SpanTable out{windowing.axes};
  WindowCursor at;
  FOREBAY_TRY(const CutEnd end, windowing.cutter->cut({.lengths = lengths.values, .ends = true, .place = lengths.place},
                                                      at, std::numeric_limits<std::int64_t>::max(), out));
  EXPECT_EQ(end, CutEnd::needs_rows);
  return out;
}

/// A window as text: element:start+length, with padding as <left and >right; spans by comma, axes by |.
inline std::string text_of(const SpanTable& table, std::size_t window) {
  std::string out;
  const auto spans = table[window];
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0) out += i % table.axes() == 0 ? "," : "|";
    out +=
        std::to_string(spans[i].element) + ":" + std::to_string(spans[i].start) + "+" + std::to_string(spans[i].length);
    if (spans[i].pad_left > 0) out += "<" + std::to_string(spans[i].pad_left);
    if (spans[i].pad_right > 0) out += ">" + std::to_string(spans[i].pad_right);
  }
  return out;
}

inline std::vector<std::string> texts_of(const Result<SpanTable>& table) {
  if (!table.ok()) return {table.error().text()};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < table->size(); ++i) out.push_back(text_of(*table, i));
  return out;
}

}  // namespace forebay::testing
