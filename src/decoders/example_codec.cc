// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <type_traits>

#include <forebay/records.h>

#include "columns/wire_writer.h"
#include "decoders/json/json_message.h"
#include "decoders/message.h"
#include "decoders/value_list.h"

namespace forebay {
namespace {

using columns::put_bytes;
using columns::put_varint;

/// Visitor that returns the encoded Feature: a list in the field of its kind.
struct FeatureEncoder {
  std::string operator()(const std::vector<std::int64_t>& values) const {
    std::string run;
    for (const std::int64_t value : values) put_varint(run, static_cast<std::uint64_t>(value));
    return list(3, run);
  }
  std::string operator()(const std::vector<float>& values) const {
    std::string run(values.size() * sizeof(float), '\0');
    if (!values.empty()) std::memcpy(run.data(), values.data(), run.size());
    return list(2, run);
  }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string strings;
    for (const std::string& value : values) put_bytes(strings, 1, value);
    std::string feature;
    put_bytes(feature, 1, strings);
    return feature;
  }
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const std::vector<FeatureValue>& steps) const {
    std::string out;
    for (const FeatureValue& step : steps) put_bytes(out, 1, std::visit(*this, step));
    return out;
  }

  static std::string list(int field, const std::string& run) {
    std::string packed;
    if (!run.empty()) put_bytes(packed, 1, run);
    std::string feature;
    put_bytes(feature, field, packed);
    return feature;
  }
};

/// Encodes a map of features or of feature lists.
template <class Value>
std::string encode_map(const std::map<std::string, Value>& entries) {
  std::string out;
  for (const auto& [key, value] : entries) {
    std::string entry;
    put_bytes(entry, 1, key);
    if constexpr (std::is_same_v<Value, FeatureValue>) {
      put_bytes(entry, 2, std::visit(FeatureEncoder{}, value));
    } else {
      put_bytes(entry, 2, FeatureEncoder{}(value));
    }
    put_bytes(out, 1, entry);
  }
  return out;
}

using Keys = std::vector<std::optional<std::string>>;

std::string_view text_of(columns::Wire bytes) { return {reinterpret_cast<const char*>(bytes.at), bytes.size()}; }

/// Collects the keys of the maps in field `field` of a message, in their order. False: the message is malformed.
bool keys_of(columns::Wire record, std::uint32_t field, Keys& keys) {
  const auto each = [](columns::Wire message, std::uint32_t number, auto&& visit) {
    while (!message.empty()) {
      columns::Tag tag;
      columns::Wire bytes;
      if (!columns::read_tag(message, tag)) return false;
      if (tag != columns::tag_of(number, columns::WireType::bytes)) {
        if (!columns::skip_field(message, tag)) return false;
      } else if (!columns::read_bytes(message, bytes) || !visit(bytes)) {
        return false;
      }
    }
    return true;
  };
  return each(record, field, [&](columns::Wire features) {
    return each(features, 1, [&](columns::Wire entry) {
      std::string key;
      if (!each(entry, 1, [&](columns::Wire bytes) { return key.assign(text_of(bytes)), true; })) return false;
      keys.emplace_back(std::move(key));
      return true;
    });
  });
}

/// A message with the slack that is read after its end.
struct Padded {
  explicit Padded(std::string_view message)
      : bytes{std::string{message} + std::string(record_slack, '\0')}, size{message.size()} {}
  [[nodiscard]] columns::Wire wire() const {
    const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return {at, at + size};
  }
  std::string bytes;
  std::size_t size;
};

/// Whether a key stands here for the first time.
bool is_first(const decoders::KeyTable& table, const Keys& keys, std::size_t i) {
  return table.find(Padded{*keys[i]}.wire()) == static_cast<int>(i);
}

bool read_value(const decoders::Parsed& parsed, const decoders::FoundFeature& found, FeatureValue& value) {
  value = std::monostate{};
  if (!found.present) return true;
  const auto pieces = parsed.of(found);
  if (found.kind == StoredAs::int_) return decoders::read_ints(pieces, value.emplace<std::vector<std::int64_t>>());
  if (found.kind == StoredAs::float_) return decoders::read_floats(pieces, value.emplace<std::vector<float>>());
  std::vector<columns::Wire> strings;
  auto& texts = value.emplace<std::vector<std::string>>();
  const bool good = decoders::read_strings(pieces, strings);
  for (const columns::Wire& text : strings) texts.emplace_back(text_of(text));
  return good;
}

/// Adds the features of the keys. False: one is malformed.
bool read_features(const decoders::Parsed& parsed, const decoders::KeyTable& table, const Keys& keys, ExampleMap& out) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (is_first(table, keys, i) && !read_value(parsed, parsed.features[i], out[*keys[i]])) return false;
  }
  return true;
}

Error malformed(std::string_view message) {
  return {Code::data, Detail::data_loss, "not a " + std::string{message} + ": the message is cut short or malformed"};
}

}  // namespace

std::string encode_example(const ExampleMap& features) {
  std::string example;
  put_bytes(example, 1, encode_map(features));
  return example;
}

Result<ExampleMap> decode_example(std::string_view message) {
  const Padded padded{message};
  const Error refused = malformed("tf.train.Example");
  Keys keys;
  if (!keys_of(padded.wire(), 1, keys)) return refused;
  const decoders::KeyTable table{keys};
  decoders::Parsed parsed;
  parsed.clear(keys.size(), 0);
  ExampleMap out;
  if (!parse_example(padded.wire(), table, parsed) || !read_features(parsed, table, keys, out)) return refused;
  return out;
}

Result<std::string> decode_json_example(std::string_view json) {
  std::string out;
  FOREBAY_DO(decoders::append_example(json, out));
  return out;
}

std::string encode_sequence_example(const SequenceExampleMap& sequence) {
  std::string out;
  if (!sequence.context.empty()) put_bytes(out, 1, encode_map(sequence.context));
  if (!sequence.lists.empty()) put_bytes(out, 2, encode_map(sequence.lists));
  return out;
}

Result<SequenceExampleMap> decode_sequence_example(std::string_view message) {
  const Padded padded{message};
  const Error refused = malformed("tf.train.SequenceExample");
  Keys context, lists;
  if (!keys_of(padded.wire(), 1, context) || !keys_of(padded.wire(), 2, lists)) return refused;
  const decoders::KeyTable features{context}, tables{lists};
  decoders::Parsed parsed;
  parsed.clear(context.size(), lists.size());
  SequenceExampleMap out;
  if (!parse_sequence_example(padded.wire(), features, tables, parsed) ||
      !read_features(parsed, features, context, out.context))
    return refused;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!is_first(tables, lists, i)) continue;
    std::vector<FeatureValue>& steps = out.lists[*lists[i]];
    steps.resize(parsed.lists[i].count);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (!read_value(parsed, parsed.steps[parsed.lists[i].first + step], steps[step])) return refused;
    }
  }
  return out;
}

}  // namespace forebay
