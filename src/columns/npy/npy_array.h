// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/rows.h>

namespace forebay {

/// Bytes from the beginning of an npy or IDX file that have its whole header.
inline constexpr std::size_t array_head_bytes = (std::size_t{64} << 10) + 12;

/// An array as the header of its file says.
struct ArrayLayout {
  DType dtype = DType::float32;
  bool swapped = false;             ///< Numbers are in the other order of bytes.
  bool fortran = false;             ///< The first axis is the one whose elements follow one another.
  std::vector<std::int64_t> shape;  ///< With the row axis.
  std::int64_t begin = 0;           ///< Bytes before the numbers.
  std::int64_t bytes = 0;           ///< Bytes of the numbers.

  /// Fails with Code::data when a content of so many bytes is not the header and the numbers.
  [[nodiscard]] Result<void> check_size(std::int64_t content) const;
  /// The array whose numbers begin at `data`.
  [[nodiscard]] ArrayView view(std::string name, const std::byte* data) const;
  bool operator==(const ArrayLayout&) const = default;
};

/// Reads the header of an npy file, of which `head` has the first `array_head_bytes`, or all. A grammar of its own
/// reads it: nothing is evaluated, and arrays of objects, which are pickles, are refused. Fails with Code::data. `kind`
/// names what else the bytes look like, for the error; empty: nothing known.
[[nodiscard]] Result<ArrayLayout> npy_layout(std::span<const std::byte> head, std::string_view kind);

/// The same for an IDX file (the format of MNIST): a type, sizes and numbers, all big-endian.
[[nodiscard]] Result<ArrayLayout> idx_layout(std::span<const std::byte> head, std::string_view kind);

}  // namespace forebay
