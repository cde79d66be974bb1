// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <forebay/json.h>
#include <forebay/plugin.h>

#include "decoders/feature_plan.h"
#include "decoders/record_decoder.h"

namespace forebay::decoders {
DecoderType example();
DecoderType sequence_example();
}  // namespace forebay::decoders

/// Decoding in tests: messages as hex or bytes in, columns as JSON out.
namespace forebay::testing {

inline std::string bytes_of(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
  return out;
}

/// Records with the slack that decoders may look at.
class Records {
 public:
  explicit Records(const std::vector<std::string>& messages) {
    for (const std::string& message : messages) padded_.push_back(message + std::string(record_slack, '\xff'));
    for (const std::string& bytes : padded_)
      views_.push_back(std::as_bytes(std::span{bytes.data(), bytes.size() - record_slack}));
  }
  [[nodiscard]] std::span<const Record> all() const { return views_; }

 private:
  std::vector<std::string> padded_;
  std::vector<Record> views_;
};

template <class T>
Json numbers(const Storage& storage) {
  std::vector<Json> out;
  for (const T value : storage.span<T>()) {
    if constexpr (std::is_floating_point_v<T>)
      out.emplace_back(static_cast<double>(value));
    else
      out.emplace_back(static_cast<std::int64_t>(value));
  }
  return Json::array(std::move(out));
}

inline Json values_of(const Column& column) {
  switch (column.dtype) {
    case DType::float32:
      return numbers<float>(column.values);
    case DType::float64:
      return numbers<double>(column.values);
    case DType::int64:
      return numbers<std::int64_t>(column.values);
    case DType::int32:
      return numbers<std::int32_t>(column.values);
    case DType::uint16:
      return numbers<std::uint16_t>(column.values);
    case DType::string:
      break;
    default:
      return numbers<std::uint8_t>(column.values);
  }
  std::vector<Json> out;
  for (std::int64_t i = 0; i < column.elements(); ++i) {
    const auto text = column.string(i);
    out.emplace_back(std::string{reinterpret_cast<const char*>(text.data()), text.size()});
  }
  return Json::array(std::move(out));
}

/// [values] of a fixed column, [values, row splits, parts…] of a variable one.
inline Json json_of(const Column& column) {
  std::vector<Json> out{values_of(column)};
  if (!column.fixed()) out.push_back(numbers<std::int64_t>(column.row_splits));
  for (const Column& part : column.parts) out.push_back(json_of(part));
  return Json::array(std::move(out));
}

/// The columns by name as text, or the error's.
inline std::string decode_with(const Bound<Decoder>& bound, std::span<const Record> records, DecoderMemory& memory) {
  ColumnBlock block;
  for (std::size_t id = 0; id < bound.out.size(); ++id) {
    Column& column = block.columns.emplace_back(bound.out[static_cast<ColumnId>(id)]);
    if (column.fixed() && column.dtype != DType::string) column.set_rows(static_cast<std::int64_t>(records.size()));
  }
  const auto done = bound.op->decode(records, 0, block, memory);
  if (!done.ok()) return "row " + std::to_string(done.error().place().row) + ": " + done.error().text();
  Json out = Json::object();
  for (const ColumnId id : bound.out.visible()) out.set(bound.out[id].name, json_of(block[id]));
  return out.text();
}

inline std::string decoded(const DecoderType& type, std::string_view options, const std::vector<std::string>& messages,
                           const std::vector<std::string>& wanted = {}) {
  const auto json = parse_json(options);
  if (!json.ok()) return json.error().text();
  const auto bound = type.bind(*json, wanted);
  if (!bound.ok()) return bound.error().text();
  const Records records{messages};
  return decode_with(*bound, records.all(), *bound->op->memory());
}

/// Of hexadecimal tf.train.Example messages.
inline std::string decoded(std::string_view options, const std::vector<std::string>& hex) {
  std::vector<std::string> messages;
  for (const std::string& one : hex) messages.push_back(bytes_of(one));
  return decoded(decoders::example(), options, messages);
}

}  // namespace forebay::testing
