// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <forebay/batch.h>
#include <forebay/error.h>

namespace forebay::tools {

/// Appends protobuf's wire format to memory that is large enough.
struct WireOut {
  char* at;

  void byte(unsigned value) { *at++ = static_cast<char>(value); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<unsigned>(value & 0x7f) | 0x80U);
    byte(static_cast<unsigned>(value));
  }
  void bytes(const void* from, std::size_t size) {
    if (size != 0) std::memcpy(at, from, size);
    at += size;
  }
  /// Tag and length of a field of bytes.
  void begin(unsigned field, std::size_t size) {
    byte(field << 3 | 2U);
    varint(size);
  }
};

constexpr std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}
constexpr std::size_t field_size(std::size_t size) { return 1 + varint_size(size) + size; }

/// The values of a tensor as the lists of Features. The tensor must outlive it.
class FeatureValues {
 public:
  /// Fails with Code::data for numbers that no Feature holds.
  [[nodiscard]] static Result<FeatureValues> make(const Tensor& values);

  [[nodiscard]] unsigned field() const { return field_; }  ///< Of the Feature: 1 bytes, 2 floats, 3 integers.
  /// The bytes of elements [first, end) without the head of their run; 0: there are none.
  [[nodiscard]] std::size_t size(std::size_t first, std::size_t end) const;
  /// The size of the list message with values of that size.
  [[nodiscard]] std::size_t list_size(std::size_t values) const {
    return field_ == 1 || values == 0 ? values : field_size(values);
  }
  /// Appends the list message of elements [first, end), whose `size` is `values`.
  void write(std::size_t first, std::size_t end, std::size_t values, WireOut& out) const;

 private:
  explicit FeatureValues(const Tensor& values) : tensor_{&values} {}
  Result<void> take_numbers();

  const Tensor* tensor_;
  unsigned field_ = 1;
  const std::int64_t* integers_ = nullptr;
  const float* floats_ = nullptr;
  std::vector<std::int64_t> own_integers_;  // of tensors of other types
  std::vector<float> own_floats_;
};

}  // namespace forebay::tools
