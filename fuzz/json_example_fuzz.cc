// SPDX-License-Identifier: Apache-2.0
// Examples as JSON text: any text becomes a message or is refused with its place. A message that it becomes is a whole
// one: the decoder of messages reads it, and gives the same rows as the decoder of the text.
#include <optional>

#include <forebay/plugin.h>

#include "decoders/json/json_message.h"
#include "fuzz/check.h"

namespace forebay::decoders {
DecoderType example();
DecoderType json_example();
}  // namespace forebay::decoders

namespace {

using forebay::fuzz::check;

constexpr std::string_view json_features = R"({"features": {
    "x": {"dtype": "float32", "shape": [2], "default": [0.5, 1]},
    "label": {"dtype": "int64", "shape": [], "default": -1},
    "name": {"dtype": "string", "shape": [], "default": "?"},
    "ids": {"kind": "var_len", "dtype": "int64", "as": "ragged"},
    "names": {"kind": "var_len", "dtype": "string", "as": "ragged"}}})";

forebay::Bound<forebay::Decoder> decoder_of(const forebay::DecoderType& type) {
  auto bound = type.bind(*forebay::parse_json(json_features), {});
  check(bound.ok(), "the options are good");
  return *std::move(bound);
}

/// The decoded row in one string; nothing when it is refused.
std::optional<std::string> row_of(const forebay::Bound<forebay::Decoder>& decoder, std::span<const std::byte> bytes) {
  const auto slack = forebay::fuzz::with_slack(bytes);
  forebay::ColumnBlock block;
  for (std::size_t i = 0; i < decoder.out.size(); ++i) {
    forebay::Column& column = block.columns.emplace_back(decoder.out[static_cast<forebay::ColumnId>(i)]);
    if (column.fixed() && column.dtype != forebay::DType::string) column.set_rows(1);
  }
  const auto memory = decoder.op->memory();
  const std::vector<forebay::Record> records{{slack.data(), bytes.size()}};
  if (const auto done = decoder.op->decode(records, 0, block, *memory); !done.ok()) {
    check(done.error().code() == forebay::Code::data, "bad text is bad data");
    check(done.error().place().row == 0, "a fault names its row");
    return std::nullopt;
  }
  std::string all;
  for (const forebay::ColumnId id : decoder.out.visible()) {
    for (const forebay::Storage* part :
         {&block[id].values, &block[id].row_splits, &block[id].byte_splits, &block[id].bytes})
      all.append(reinterpret_cast<const char*>(part->data()), part->size());
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto of_text = decoder_of(forebay::decoders::json_example());
  static const auto of_messages = decoder_of(forebay::decoders::example());
  const auto bytes = forebay::fuzz::bytes_of(data, size);
  std::string message;
  const auto made = forebay::decoders::append_example(forebay::fuzz::text_of(data, size), message);
  if (!made.ok()) check(!made.error().message().empty(), "a refusal says why");
  const auto row = row_of(of_text, bytes);
  if (!made.ok()) {
    check(!row, "text that is no message is no row");
    return 0;
  }
  check(row_of(of_messages, std::as_bytes(std::span{message})) == row, "the message has the row of the text");
  return 0;
}
