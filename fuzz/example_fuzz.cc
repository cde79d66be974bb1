// SPDX-License-Identifier: Apache-2.0
// Example and SequenceExample messages: any bytes are decoded or refused, with the same result by every path. Columns
// have the right shape. The memory of a worker does not change results.
#include <algorithm>
#include <optional>

#include <forebay/plugin.h>
#include <forebay/records.h>

#include "decoders/feature_plan.h"
#include "decoders/lists/sequence_decoder.h"
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

constexpr std::string_view sequence_options = R"({"features": {
    "label": {"dtype": "int64", "shape": [], "default": -1},
    "names": {"kind": "var_len", "dtype": "string", "as": "sparse"}}, "lists": {
    "x": {"kind": "fixed_len_sequence", "dtype": "float32", "shape": [2], "allow_missing": true},
    "half": {"kind": "fixed_len_sequence", "dtype": "float16", "allow_missing": true},
    "i": {"kind": "fixed_len_sequence", "dtype": "int64", "allow_missing": true},
    "j": {"kind": "fixed_len_sequence", "dtype": "int32", "shape": [3], "allow_missing": true},
    "s": {"kind": "fixed_len_sequence", "dtype": "string", "allow_missing": true},
    "t": {"kind": "fixed_len_sequence", "dtype": "string", "shape": [2], "allow_missing": true},
    "r": {"kind": "raw", "dtype": "int16", "shape": [2], "endian": "big", "allow_missing": true},
    "vf": {"kind": "var_len", "dtype": "float32"}, "vi": {"kind": "ragged", "dtype": "int64"},
    "vs": {"kind": "var_len", "dtype": "string", "as": "sparse"},
    "ragged": {"kind": "ragged", "dtype": "int32", "value_key": "v", "partitions": [["row_lengths", "n"]]}}})";

using forebay::decoders::Path;
using forebay::decoders::Role;
using forebay::decoders::StraightKernel;

forebay::decoders::FeaturePlan plan_of(std::string_view text, const char* key, Role role, forebay::Schema& schema) {
  const auto json = forebay::parse_json(text);
  std::vector<forebay::Error> faults;
  const auto map = forebay::JsonCodec<forebay::FeatureMap>::read(*json->find(key), faults);
  auto plan = forebay::decoders::plan_features(*map, role, {}, schema, faults);
  for (const forebay::Error& fault : faults) std::fprintf(stderr, "%s\n", fault.text().c_str());
  check(faults.empty(), "the options are good");
  return plan;
}

forebay::Bound<forebay::Decoder> decoder(Path path, StraightKernel kernel) {
  forebay::Bound<forebay::Decoder> made;
  auto plan = plan_of(options, "features", Role::example, made.out);
  made.op = std::make_unique<forebay::decoders::ExampleDecoder>(std::move(plan), path, kernel);
  return made;
}

forebay::Bound<forebay::Decoder> sequence_decoder(Path path) {
  forebay::Bound<forebay::Decoder> made;
  auto context = plan_of(sequence_options, "features", Role::context, made.out);
  auto lists = plan_of(sequence_options, "lists", Role::lists, made.out);
  made.op = std::make_unique<forebay::decoders::SequenceDecoder>(std::move(context), std::move(lists), path);
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
  const auto append_column = [&append](const Column& column) {
    append(column.values);
    append(column.row_splits);
    append(column.byte_splits);
    append(column.bytes);
  };
  for (const ColumnId id : schema.visible()) {
    const Column& column = block[id];
    check_column(column, rows);
    append_column(column);
    for (const Column& part : column.parts) append_column(part);
  }
  return all;
}

void check_sequence(const Record& record) {
  static const auto fast = sequence_decoder(Path::fast);
  static const auto plain = sequence_decoder(Path::plain);
  static const auto warm = fast.op->memory();  // a decoder memory that has seen every input of this run
  const auto fresh = fast.op->memory();
  const auto alone = decode(fast, {record}, *fresh);
  check(decode(fast, {record}, *warm) == alone, "what a worker remembers of sequences changes nothing");
  check(decode(plain, {record}, *plain.op->memory()) == alone, "the plain way decodes the same sequence");
  check(decode(fast, {record, record}, *fresh).has_value() == alone.has_value(),
        "a sequence is good or bad on its own");
}

void check_sequence_codec(std::string_view message) {
  const auto sequence = forebay::decode_sequence_example(message);
  if (!sequence.ok()) return;
  const auto again = forebay::decode_sequence_example(forebay::encode_sequence_example(*sequence));
  check(again.ok() && forebay::encode_sequence_example(*again) == forebay::encode_sequence_example(*sequence),
        "a sequence that is encoded is decoded as the same");
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
  check_sequence(record);
  check_sequence_codec(forebay::fuzz::text_of(data, size));
  const auto map = forebay::decode_example(forebay::fuzz::text_of(data, size));
  if (map.ok()) {
    const auto again = forebay::decode_example(forebay::encode_example(*map));
    check(again.ok() && forebay::encode_example(*again) == forebay::encode_example(*map),
          "what is encoded is decoded as the same");
  }
  return 0;
}
