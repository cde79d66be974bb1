// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <forebay/arrow.h>

#include "sources/arrow/types.h"

/// Arrays of the C data interface, checked before their memory is read.
namespace forebay::arrow {

/// Some elements of an array: those from `first` on, counted from the array's own offset.
struct View {
  const ArrowArray* array = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t at() const { return array->offset + first; }  ///< Place in the buffers.
  [[nodiscard]] const std::byte* buffer(std::size_t number) const {
    return static_cast<const std::byte*>(array->buffers[number]);
  }
};

/// Elements `first` to `first + count` of an array that has so many buffers (of views: at least) and children. Fails
/// when the array has fewer elements, or sizes that no memory has.
[[nodiscard]] Result<View> view_of(const ArrowArray* array, std::int64_t first, std::int64_t count,
                                   std::int64_t buffers, std::int64_t children);
/// The same for elements of single values: their buffers are there, too.
[[nodiscard]] Result<View> values_view(const ArrowArray* array, std::int64_t first, std::int64_t count,
                                       const ValueType& type);

[[nodiscard]] inline bool bit_at(const std::byte* bits, std::int64_t place) {
  return (std::to_integer<unsigned>(bits[place >> 3]) >> (place & 7) & 1U) != 0;
}
/// A number of any alignment.
template <class T>
[[nodiscard]] T number_at(const std::byte* data, std::int64_t place) {
  T out;
  std::memcpy(&out, data + place * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return out;
}

/// Which elements are no nulls: empty for all, else 0 or 1 for each.
using Valid = std::vector<std::uint8_t>;
/// Takes out the nulls of the array. `valid` is of the elements of the view.
void take_out_nulls(const View& view, Valid& valid);

/// Offsets of strings or lists: `count` + 1 of them from `place` on, as int64. Fails when one is negative or less than
/// the one before it.
[[nodiscard]] Result<void> read_offsets(const std::byte* offsets, bool large, std::int64_t place, std::int64_t count,
                                        std::int64_t* out);

/// The strings of an array of any of the layouts of strings. The view must outlive this object.
class Strings {
 public:
  /// Fails when a string lies outside of its buffer, as far as the interface tells.
  [[nodiscard]] static Result<Strings> make(const ValueType& type, const View& view);
  [[nodiscard]] std::string_view operator[](std::int64_t i) const;

  /// Where the strings lie one after the other: their bytes, and the offsets. Null of views.
  [[nodiscard]] const std::byte* bytes() const { return bytes_; }
  [[nodiscard]] std::unique_ptr<std::int64_t[]> take_splits() { return std::move(splits_); }

 private:
  Strings(const View& view, Layout layout) : view_{view}, layout_{layout} {}
  [[nodiscard]] Result<void> check_views() const;

  View view_;
  Layout layout_;
  const std::byte* bytes_ = nullptr;
  std::unique_ptr<std::int64_t[]> splits_;
};

/// A fault of an array.
[[nodiscard]] Error bad_array(const std::string& what);

}  // namespace forebay::arrow
