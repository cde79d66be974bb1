// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Protobuf wire format, written.
namespace forebay::columns {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

/// A field that is a string or a message.
inline void put_bytes(std::string& out, int field, std::string_view bytes) {
  out.push_back(static_cast<char>(field * 8 + 2));
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace forebay::columns
