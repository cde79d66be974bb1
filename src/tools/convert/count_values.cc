// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/count_values.h"

#include <algorithm>

#include "config/utf8.h"

namespace forebay::tools::messages {

namespace {

using columns::Tag;
using columns::Wire;
using columns::WireType;

/// Counts the values of a list message, in one run of bytes or one by one. `look`: the strings are looked at.
bool count_values(ValueKind kind, Wire list, bool look, FoundValues& found) {
  const Tag single = columns::tag_of(1, kind == ValueKind::floats ? WireType::fixed32 : WireType::varint);
  return each_field(list, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if (kind != ValueKind::bytes && tag == single) {
      ++found.count;
      return std::nullopt;  // passed over as any field
    }
    if (tag != first_bytes) return std::nullopt;
    Wire bytes;
    if (!columns::read_bytes(rest, bytes)) return false;
    if (kind == ValueKind::floats) found.count += static_cast<std::int64_t>(bytes.size() / sizeof(float));
    if (kind == ValueKind::integers)
      found.count += std::count_if(bytes.at, bytes.end, [](std::uint8_t byte) { return byte < 0x80; });
    if (kind == ValueKind::bytes) {
      ++found.count;
      found.text = found.text && (!look || config::is_utf8({reinterpret_cast<const char*>(bytes.at), bytes.size()}));
    }
    return true;
  });
}

}  // namespace

bool read_feature(Wire feature, bool look, FoundValues& found) {
  return each_field(feature, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if ((tag & 7) != static_cast<Tag>(WireType::bytes) || tag >> 3 > 3) return std::nullopt;
    const auto kind = static_cast<ValueKind>(tag >> 3);
    if (found.kind != kind) found = {.kind = kind};
    Wire list;
    return columns::read_bytes(rest, list) && count_values(kind, list, look, found);
  });
}

bool read_entry(Wire entry, std::string& key, Wire& value) {
  key.clear();
  value = {};
  return each_field(entry, [&](Tag tag, Wire& rest) -> std::optional<bool> {
    if (tag != first_bytes && tag != columns::tag_of(2, WireType::bytes)) return std::nullopt;
    Wire bytes;
    if (!columns::read_bytes(rest, bytes)) return false;
    if (tag == first_bytes) {
      key.assign(reinterpret_cast<const char*>(bytes.at), bytes.size());
    } else {
      value = bytes;
    }
    return true;
  });
}

}  // namespace forebay::tools::messages
