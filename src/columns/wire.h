// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Protobuf wire format, read without trust. Every function returns false when the bytes are cut or malformed.
namespace forebay::columns {

/// The bytes that are left to read. Up to 64 bytes after `end` may be read.
struct Wire {
  const std::uint8_t* at = nullptr;
  const std::uint8_t* end = nullptr;

  [[nodiscard]] bool empty() const { return at == end; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - at); }
};

/// Field number and wire type as one number, as the message stores them: field * 8 + type.
using Tag = std::uint32_t;
enum class WireType : std::uint8_t { varint, fixed64, bytes, group, group_end, fixed32 };
constexpr Tag tag_of(std::uint32_t field, WireType type) { return field * 8 + static_cast<std::uint32_t>(type); }

[[nodiscard]] inline std::uint64_t load64(const std::uint8_t* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

/// The rare case of read_varint: three bytes and more.
[[nodiscard]] bool read_long_varint(Wire& wire, std::uint64_t& value);

/// A varint of at most 10 bytes; longer encodings than necessary are accepted, bits beyond 64 are dropped.
[[nodiscard]] inline bool read_varint(Wire& wire, std::uint64_t& value) {
  if (wire.at < wire.end && *wire.at < 0x80) {
    value = *wire.at++;
    return true;
  }
  if (wire.size() >= 2 && wire.at[1] < 0x80) {
    value = (wire.at[0] & 0x7fU) | std::uint64_t{wire.at[1]} << 7;
    wire.at += 2;
    return true;
  }
  return read_long_varint(wire, value);
}

/// A field's tag; field number 0 and wire types 6 and 7 are malformed.
[[nodiscard]] inline bool read_tag(Wire& wire, Tag& tag) {
  std::uint64_t value;
  if (!read_varint(wire, value) || value > 0xffffffffU || value < 8 || (value & 7) > 5) return false;
  tag = static_cast<Tag>(value);
  return true;
}

/// A length and as many bytes.
[[nodiscard]] inline bool read_bytes(Wire& wire, Wire& bytes) {
  std::uint64_t length;
  if (!read_varint(wire, length) || length > wire.size()) return false;
  bytes = {wire.at, wire.at + length};
  wire.at += length;
  return true;
}

/// Skips the value of a field whose tag has been read. Groups may be nested 100 deep; there is no recursion.
[[nodiscard]] bool skip_field(Wire& wire, Tag tag);

}  // namespace forebay::columns
