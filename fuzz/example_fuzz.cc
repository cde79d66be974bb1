// SPDX-License-Identifier: Apache-2.0
// Example messages: any bytes are decoded or refused, with the same result by every path. Columns have the right shape.
// The memory of a worker does not change results.
#include <algorithm>
#include <optional>

#include <forebay/plugin.h>
#include <forebay/records.h>

#include "decoders/feature_plan.h"
#include "decoders/record_decoder.h"
#include "fuzz/check.h"

using forebay::Column;
using forebay::ColumnBlock;
using forebay::ColumnId;
using forebay::Record;
using forebay::fuzz::check;

namespace {

constexpr std::string_view options = R"({"features": {
    "x": {"dtype": "float32", "shape": [3], "default": [0.5, 1, 2]},
    "label": {"dtype": "int64", "shape": [], "default": -1},
    "half": {"dtype": "float16", "shape": [], "default": 0},
    "name": {"dtype": "string", "shape": [2], "default": ["", "b"]},
    "ids": {"kind": "var_len", "dtype": "int64", "as": "ragged"},
    "names": {"kind": "var_len", "dtype": "string", "as": "sparse"},
    "steps": {"kind": "fixed_len_sequence", "dtype": "float64", "shape": [2], "as": "padded", "stored": "float"},
    "raw": {"kind": "raw", "dtype": "int16", "shape": [-1], "endian": "big"},
    "sparse": {"kind": "sparse", "dtype": "float32", "index_key": "ix", "value_key": "val", "size": 8},
    "ragged": {"kind": "ragged", "dtype": "int32", "value_key": "pieces", "partitions": [["row_lengths", "parts"]]}}})";

using forebay::decoders::Path;
using forebay::decoders::StraightKernel;

forebay::Bound<forebay::Decoder> decoder(Path path, StraightKernel kernel) {
  const auto json = forebay::parse_json(options);
  std::vector<forebay::Error> faults;
  const auto map = forebay::JsonCodec<forebay::FeatureMap>::read(*json->find("features"), faults);
  forebay::Bound<forebay::Decoder> made;
  auto plan = forebay::decoders::plan_features(*map, forebay::decoders::Role::example, {}, made.out, faults);
  for (const forebay::Error& fault : faults) std::fprintf(stderr, "%s\n", fault.text().c_str());
  check(faults.empty(), "the options are good");
  made.op = std::make_unique<forebay::decoders::ExampleDecoder>(std::move(plan), path, kernel);
  return made;
}

void check_column(const Column& column, std::int64_t rows) {
  check(column.rows == rows, "every column has every row");
  const std::int64_t elements = column.elements();
  if (!column.fixed()) {
    const auto splits = column.row_splits.span<std::int64_t>();
    check(splits.size() == static_cast<std::size_t>(rows) + 1, "a variable column has a split for each row");
    check(std::is_sorted(splits.begin(), splits.end()) && splits.front() == 0, "splits begin at 0 and never fall");
    check(splits.back() == elements, "the last split is the number of elements");
  }
  if (column.dtype == forebay::DType::string) {
    const auto splits = column.byte_splits.span<std::int64_t>();
    check(splits.size() == static_cast<std::size_t>(elements) + 1, "a string column has a split for each element");
    check(std::is_sorted(splits.begin(), splits.end()), "byte splits never fall");
    check(splits.back() == static_cast<std::int64_t>(column.bytes.size()), "the last split is the number of bytes");
  } else if (!column.fixed()) {
    check(column.values.size() == static_cast<std::size_t>(elements) * size_of(column.dtype),
          "values are whole elements");
  }
  for (const Column& part : column.parts) check_column(part, rows);
}

// The decoded rows in one string; nothing when they are refused.
std::optional<std::string> decode(const forebay::Bound<forebay::Decoder>& decoder, const std::vector<Record>& records,
                                  forebay::DecoderMemory& memory) {
  const forebay::Schema& schema = decoder.out;
  const auto rows = static_cast<std::int64_t>(records.size());
  ColumnBlock block;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    Column& column = block.columns.emplace_back(schema[static_cast<ColumnId>(i)]);
    if (column.fixed() && column.dtype != forebay::DType::string) column.set_rows(rows);
  }
  auto done = decoder.op->decode(records, 0, block, memory);
  if (!done.ok()) {
    check(done.error().place().row >= 0 && done.error().place().row < rows, "a fault names its row");
    return std::nullopt;
  }
  std::string all;
  const auto append = [&](const forebay::Storage& bytes) {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    all += '|';
  };
  for (const ColumnId id : schema.visible()) {
    const Column& column = block[id];
    check_column(column, rows);
    append(column.values);
    append(column.row_splits);
    append(column.byte_splits);
    append(column.bytes);
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = forebay::fuzz::with_slack(forebay::fuzz::bytes_of(data, size));
  const Record record = std::span{message}.first(size);
  static const auto fast = decoder(Path::fast, forebay::decoders::straight_kernel());
  static const auto portable = decoder(Path::fast, nullptr);
  static const auto plain = decoder(Path::plain, nullptr);
  const auto fresh = fast.op->memory();
  const auto alone = decode(fast, {record}, *fresh);
  static const auto warm = fast.op->memory();  // decoder memories that have seen every input of this run
  static const auto warm_portable = portable.op->memory();
  check(decode(fast, {record}, *warm) == alone, "what a worker remembers changes nothing");
  check(decode(portable, {record}, *warm_portable) == alone, "every processor decodes the same");
  check(decode(plain, {record}, *plain.op->memory()) == alone, "the plain way decodes the same");
  check(decode(fast, {record, record}, *fresh).has_value() == alone.has_value(), "a record is good or bad on its own");
  const auto map = forebay::decode_example(forebay::fuzz::text_of(data, size));
  if (map.ok()) {
    const auto again = forebay::decode_example(forebay::encode_example(*map));
    check(again.ok() && forebay::encode_example(*again) == forebay::encode_example(*map),
          "what is encoded is decoded as the same");
  }
  return 0;
}
