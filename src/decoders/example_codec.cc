// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <forebay/records.h>

#include "decoders/message.h"
#include "decoders/value_list.h"

namespace forebay {
namespace {

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  out.push_back(static_cast<char>(field * 8 + 2));
  put_varint(out, bytes.size());
  out += bytes;
}

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

  static std::string list(int field, const std::string& run) {
    std::string packed;
    if (!run.empty()) put_bytes(packed, 1, run);
    std::string feature;
    put_bytes(feature, field, packed);
    return feature;
  }
};

/// Collects the keys of a message in their order. False: the message is malformed.
bool keys_of(columns::Wire record, std::vector<std::optional<std::string>>& keys) {
  constexpr columns::Tag first = columns::tag_of(1, columns::WireType::bytes);
  const auto each = [](columns::Wire message, auto&& visit) {
    while (!message.empty()) {
      columns::Tag tag;
      columns::Wire bytes;
      if (!columns::read_tag(message, tag)) return false;
      if (tag != first) {
        if (!columns::skip_field(message, tag)) return false;
      } else if (!columns::read_bytes(message, bytes) || !visit(bytes)) {
        return false;
      }
    }
    return true;
  };
  return each(record, [&](columns::Wire features) {
    return each(features, [&](columns::Wire entry) {
      std::string key;
      const auto keep = [&](columns::Wire bytes) {
        return key.assign(reinterpret_cast<const char*>(bytes.at), bytes.size()), true;
      };
      if (!each(entry, keep)) return false;
      keys.emplace_back(std::move(key));
      return true;
    });
  });
}

Error malformed() {
  return {Code::data, Detail::data_loss, "not a tf.train.Example: the message is cut short or malformed"};
}

}  // namespace

std::string encode_example(const ExampleMap& features) {
  std::string map;
  for (const auto& [key, value] : features) {
    std::string entry;
    put_bytes(entry, 1, key);
    put_bytes(entry, 2, std::visit(FeatureEncoder{}, value));
    put_bytes(map, 1, entry);
  }
  std::string example;
  put_bytes(example, 1, map);
  return example;
}

Result<ExampleMap> decode_example(std::string_view message) {
  const std::string padded = std::string{message} + std::string(record_slack, '\0');
  const auto* at = reinterpret_cast<const std::uint8_t*>(padded.data());
  const columns::Wire record{at, at + message.size()};
  std::vector<std::optional<std::string>> keys;
  if (!keys_of(record, keys)) return malformed();
  const decoders::KeyTable table{keys};
  decoders::Parsed parsed;
  parsed.clear(keys.size(), 0);
  if (!parse_example(record, table, parsed)) return malformed();
  ExampleMap out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string padded_key = *keys[i] + std::string(8, '\0');
    const auto* key = reinterpret_cast<const std::uint8_t*>(padded_key.data());
    if (table.find({key, key + keys[i]->size()}) != static_cast<int>(i)) continue;  // the same key again
    const decoders::FoundFeature& found = parsed.features[i];
    const auto pieces = parsed.of(found);
    FeatureValue value = std::monostate{};
    bool good = true;
    if (found.present && found.kind == StoredAs::int_) {
      good = decoders::read_ints(pieces, value.emplace<std::vector<std::int64_t>>());
    } else if (found.present && found.kind == StoredAs::float_) {
      good = decoders::read_floats(pieces, value.emplace<std::vector<float>>());
    } else if (found.present) {
      std::vector<columns::Wire> strings;
      good = decoders::read_strings(pieces, strings);
      auto& texts = value.emplace<std::vector<std::string>>();
      for (const columns::Wire& text : strings) texts.emplace_back(reinterpret_cast<const char*>(text.at), text.size());
    }
    if (!good) return malformed();
    out[*keys[i]] = std::move(value);
  }
  return out;
}

}  // namespace forebay
