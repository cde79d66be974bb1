// SPDX-License-Identifier: Apache-2.0
#include "columns/wire.h"

#include <array>

namespace forebay::columns {
namespace {

constexpr std::size_t max_groups = 100;

bool skip_plain(Wire& wire, Tag tag) {
  std::uint64_t ignored;
  Wire bytes;
  std::size_t fixed = 8;
  switch (static_cast<WireType>(tag & 7)) {
    case WireType::varint:
      return read_varint(wire, ignored);
    case WireType::bytes:
      return read_bytes(wire, bytes);
    case WireType::fixed32:
      fixed = 4;
      [[fallthrough]];
    case WireType::fixed64:
      if (wire.size() < fixed) return false;
      wire.at += fixed;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool read_long_varint(Wire& wire, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (wire.at == wire.end) return false;
    const std::uint64_t byte = *wire.at++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool skip_field(Wire& wire, Tag tag) {
  std::array<Tag, max_groups> open{};
  std::size_t depth = 0;
  while (true) {
    const auto type = static_cast<WireType>(tag & 7);
    if (type == WireType::group) {
      if (depth == open.size()) return false;
      open[depth++] = tag;
    } else if (type == WireType::group_end) {
      if (depth == 0 || open[--depth] >> 3 != tag >> 3) return false;
    } else if (!skip_plain(wire, tag)) {
      return false;
    }
    if (depth == 0) return true;
    if (!read_tag(wire, tag)) return false;
  }
}

}  // namespace forebay::columns
