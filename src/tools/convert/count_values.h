// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "columns/wire.h"

/// Looks at the values in messages of Examples and SequenceExamples without taking them. False: malformed.
namespace forebay::tools::messages {

constexpr columns::Tag first_bytes = columns::tag_of(1, columns::WireType::bytes);

/// Calls `visit` with tag and rest of the message for every field; it reads the value of those it returns true for,
/// else the field is passed over. False: the message is malformed, or `visit` has found so.
template <class Visit>
bool each_field(columns::Wire message, Visit visit) {
  while (!message.empty()) {
    columns::Tag tag;
    if (!columns::read_tag(message, tag)) return false;
    const std::optional<bool> good = visit(tag, message);
    if (good ? !*good : !columns::skip_field(message, tag)) return false;
  }
  return true;
}

/// Calls `visit` with the bytes of every field 1 that is a message or a string.
template <class Visit>
bool each_first(columns::Wire message, Visit visit) {
  return each_field(message, [&](columns::Tag tag, columns::Wire& rest) -> std::optional<bool> {
    if (tag != first_bytes) return std::nullopt;
    columns::Wire bytes;
    return columns::read_bytes(rest, bytes) && visit(bytes);
  });
}

enum class ValueKind : std::uint8_t { none, bytes, floats, integers, mixed };

/// What a Feature has.
struct FoundValues {
  ValueKind kind = ValueKind::none;
  std::int64_t count = 0;
  bool text = true;
};

/// Several lists of one kind are one; the last kind counts. `look`: the strings are looked at.
[[nodiscard]] bool read_feature(columns::Wire feature, bool look, FoundValues& found);

/// An entry of a map: its key, and the message that is its value.
[[nodiscard]] bool read_entry(columns::Wire entry, std::string& key, columns::Wire& value);

}  // namespace forebay::tools::messages
