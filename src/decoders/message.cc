// SPDX-License-Identifier: Apache-2.0
#include "decoders/message.h"

namespace forebay::decoders {
namespace {

using columns::Tag;
using columns::tag_of;
using columns::Wire;
using columns::WireType;

constexpr Tag first_bytes = tag_of(1, WireType::bytes);
constexpr Tag second_bytes = tag_of(2, WireType::bytes);

/// Calls `visit(tag, bytes)` for every length-delimited field and skips the others. False: the message is malformed, or
/// `visit` returned false.
template <class Visit>
bool each_bytes(Wire message, Parsed& out, Visit visit) {
  while (!message.empty()) {
    out.bad = message.at;
    Tag tag;
    if (!columns::read_tag(message, tag)) return false;
    if (static_cast<WireType>(tag & 7) != WireType::bytes) {
      if (!columns::skip_field(message, tag)) return false;
      continue;
    }
    Wire bytes;
    if (!columns::read_bytes(message, bytes)) return false;
    if (!visit(tag, bytes)) return false;
  }
  return true;
}

/// Reads an entry of map<string, …>. Sets `key` to the last key and merges all values. False: the entry is malformed.
bool read_entry(Wire entry, Wire& key, Parsed& out) {
  key = {entry.end, entry.end};
  out.values.clear();
  return each_bytes(entry, out, [&](Tag tag, Wire bytes) {
    if (tag == first_bytes) key = bytes;
    if (tag == second_bytes) out.values.push_back(bytes);
    return true;
  });
}

bool parse_features(Wire features, const KeyTable& wanted, Parsed& out) {
  return each_bytes(features, out, [&](Tag tag, Wire entry) {
    if (tag != first_bytes) return true;
    Wire key;
    if (!read_entry(entry, key, out)) return false;
    const int source = wanted.find(key);
    return source == KeyTable::none || parse_feature(out.values, out, out.features[static_cast<std::size_t>(source)]);
  });
}

bool parse_lists(Wire lists, const KeyTable& wanted, Parsed& out) {
  return each_bytes(lists, out, [&](Tag tag, Wire entry) {
    if (tag != first_bytes) return true;
    Wire key;
    if (!read_entry(entry, key, out)) return false;
    const int source = wanted.find(key);
    return source == KeyTable::none || parse_feature_list(out.values, out, out.lists[static_cast<std::size_t>(source)]);
  });
}

}  // namespace

void Parsed::clear(std::size_t features_wanted, std::size_t lists_wanted) {
  pieces.clear();
  steps.clear();
  features.assign(features_wanted, {});
  lists.assign(lists_wanted, {});
}

bool parse_feature(std::span<const Wire> message, Parsed& out, FoundFeature& found) {
  found = {false, StoredAs::int_, static_cast<std::uint32_t>(out.pieces.size()), 0};
  for (const Wire& part : message) {
    const bool good = each_bytes(part, out, [&](Tag tag, Wire list) {
      static constexpr StoredAs kinds[]{StoredAs::bytes, StoredAs::float_, StoredAs::int_};
      const std::uint32_t field = tag >> 3;
      if (field > 3) return true;
      const StoredAs kind = kinds[field - 1];
      if (found.present && found.kind != kind) {  // the last kind wins; the same kind again adds to its list
        out.pieces.resize(found.first);
        found.count = 0;
      }
      found.present = true;
      found.kind = kind;
      out.pieces.push_back(list);
      ++found.count;
      return true;
    });
    if (!good) return false;
  }
  return true;
}

bool parse_feature_list(std::span<const Wire> message, Parsed& out, FoundList& found) {
  found = {true, static_cast<std::uint32_t>(out.steps.size()), 0};
  for (const Wire& value : message) {
    const bool good = each_bytes(value, out, [&](Tag tag, Wire feature) {
      if (tag != first_bytes) return true;
      FoundFeature step;
      if (!parse_feature({&feature, 1}, out, step)) return false;
      out.steps.push_back(step);
      ++found.count;
      return true;
    });
    if (!good) return false;
  }
  return true;
}

bool parse_example(Wire record, const KeyTable& wanted, Parsed& out) {
  return each_bytes(
      record, out, [&](Tag tag, Wire features) { return tag != first_bytes || parse_features(features, wanted, out); });
}

bool parse_sequence_example(Wire record, const KeyTable& context, const KeyTable& lists, Parsed& out) {
  return each_bytes(record, out, [&](Tag tag, Wire part) {
    if (tag == first_bytes) return parse_features(part, context, out);
    return tag != second_bytes || parse_lists(part, lists, out);
  });
}

}  // namespace forebay::decoders
