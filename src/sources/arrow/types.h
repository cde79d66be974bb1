// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <forebay/dtype.h>

/// The types of Apache Arrow, as the format strings of its C data interface name them.
namespace forebay::arrow {

/// How the elements of an array lie in its buffers, the first of which is the bitmap of the elements that are no nulls.
enum class Layout : std::uint8_t {
  bits,         ///< One bit each.
  numbers,      ///< As tensors have them.
  truths,       ///< One byte each, delivered as bool: 0 is false.
  widened,      ///< int32, delivered as int64: dates and times.
  text32,       ///< Strings: int32 offsets, bytes.
  text64,       ///< Strings: int64 offsets, bytes.
  views,        ///< Strings: 16 bytes each, with the string or its place in one of any number of buffers.
  fixed_bytes,  ///< Strings of one length.
};

/// A type whose elements are single values.
struct ValueType {
  DType dtype = DType::int64;
  Layout layout = Layout::numbers;
  std::int64_t width = 0;    ///< Bytes of an element in its buffer; not of bits.
  std::string logical = {};  ///< "timestamp[us, UTC]", "date[days]"; empty: the numbers mean themselves.
};

/// Nothing: the format names no such type. The interface gives the format, so it may be any text.
[[nodiscard]] std::optional<ValueType> value_type(std::string_view format);

/// The value of a key in ArrowSchema::metadata, such as "ARROW:extension:name"; nothing: the key is not there.
[[nodiscard]] std::optional<std::string_view> metadata_of(const char* metadata, std::string_view key);

/// The number of a text of digits, as in "+w:3"; nothing for other texts, and above 2^31.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text);

/// What a type is called that cannot be delivered: "a map".
[[nodiscard]] std::string_view refused_type(std::string_view format);

}  // namespace forebay::arrow
