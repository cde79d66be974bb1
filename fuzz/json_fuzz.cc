// SPDX-License-Identifier: Apache-2.0
// JSON objects: any text becomes a row of every tensor or is refused with its row, and rows are as long as they say.
// What a worker keeps of one record never shows in the next.
#include <optional>

#include <forebay/plugin.h>

#include "fuzz/check.h"

namespace forebay::decoders {
DecoderType json();
}  // namespace forebay::decoders

namespace {

using forebay::fuzz::check;

constexpr std::string_view fields = R"({"fields": {
    "n": {"dtype": "int64"}, "f": {"dtype": "float32", "default": 0.5}, "ok": {"dtype": "bool", "default": false},
    "s": {"dtype": "string", "default": "?"}, "box": {"dtype": "uint8", "shape": [2, 2], "default": 1},
    "list": {"dtype": "float64", "shape": [-1], "default": 0}, "pairs": {"dtype": "int16", "shape": [-1, 2], "default": 0},
    "words": {"dtype": "string", "shape": [2], "path": ["u", "words"], "default": ""},
    "said": {"dtype": "string", "shape": [-1], "path": ["m", "c"], "default": ""},
    "two": {"dtype": "int32", "shape": [2], "path": ["m", "i"], "default": 3}}})";

const forebay::Bound<forebay::Decoder>& decoder() {
  static const auto bound = forebay::decoders::json().bind(*forebay::parse_json(fields), {});
  check(bound.ok(), "the options are good");
  return *bound;
}

void check_row(const forebay::Column& column) {
  if (column.dtype == forebay::DType::string) {
    const auto splits = column.byte_splits.span<std::int64_t>();
    check(column.elements() == std::ssize(splits) - 1 || column.elements() == 0, "every element has its bytes");
    check(splits.empty() || splits.back() == std::ssize(column.bytes.span<std::byte>()), "no byte is left over");
  }
  if (column.fixed()) return;
  check(column.rows == 1 && column.row_splits.span<std::int64_t>().size() == 2, "a ragged tensor has its row");
  check(column.row_splits.span<std::int64_t>()[1] == column.elements(), "the row has all elements");
  check(column.elements() % column.shape.count() == 0, "steps are whole");
}

/// The decoded row in one string; nothing when it is refused.
std::optional<std::string> row_of(std::span<const std::byte> bytes, forebay::DecoderMemory& memory) {
  const auto slack = forebay::fuzz::with_slack(bytes);
  forebay::ColumnBlock block;
  for (std::size_t i = 0; i < decoder().out.size(); ++i) {
    forebay::Column& column = block.columns.emplace_back(decoder().out[static_cast<forebay::ColumnId>(i)]);
    if (column.fixed() && column.dtype != forebay::DType::string) column.set_rows(1);
  }
  const std::vector<forebay::Record> records{{slack.data(), bytes.size()}};
  if (const auto done = decoder().op->decode(records, 0, block, memory); !done.ok()) {
    check(done.error().code() == forebay::Code::data, "bad text is bad data");
    check(done.error().place().row == 0, "a fault names its row");
    check(!done.error().message().empty(), "a fault says why");
    return std::nullopt;
  }
  std::string all;
  for (const forebay::Column& column : block.columns) {
    check_row(column);
    for (const forebay::Storage* part : {&column.values, &column.row_splits, &column.byte_splits, &column.bytes})
      all.append(reinterpret_cast<const char*>(part->data()), part->size());
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto kept = decoder().op->memory();
  const auto bytes = forebay::fuzz::bytes_of(data, size);
  const auto first = row_of(bytes, *kept);
  check(row_of(bytes, *kept) == first, "the same text is the same row");
  constexpr std::string_view whole = R"({"n": 1})";
  const auto after =
      row_of(forebay::fuzz::bytes_of(reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()), *kept);
  check(after.has_value(), "nothing of the record before counts");
  return 0;
}
