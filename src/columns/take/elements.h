// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <forebay/column.h>
#include <forebay/rows.h>

/// What `take` reads from: the rows of a column, each with a time axis.
namespace forebay::columns {

/// One element of a source: `frames` frames of `frame_elements` values each, one after the other.
struct ElementExtent {
  std::int64_t first = 0;   ///< Its first value, counted from the first value of the source.
  std::int64_t frames = 0;  ///< Length of the time axis, which is the first axis. An element of rank 0 is one frame.
  std::int64_t frame_elements = 0;
};

/// The memory of a source that no Column owns: arrays of the program, Arrow buffers. Values are native and contiguous
/// (StridedRows makes them so), of any alignment; nothing after their end may be read.
struct ForeignElements {
  DType dtype = DType::float32;
  Shape shape;  ///< Of one row; only the first dim may be unknown.
  std::int64_t rows = 0;
  std::span<const std::byte> values;          ///< Numbers.
  std::span<const std::int64_t> splits;       ///< Unknown first dim: int64 [rows + 1], in values. Else empty.
  std::span<const std::int64_t> byte_splits;  ///< Strings: int64 [values + 1].
  std::span<const std::byte> bytes;           ///< Strings.
};

/// A view of the rows of a column. It owns nothing; the memory outlives it. Any number of threads may read it.
class Elements {
 public:
  /// The rows of a column that a decoder or a step filled.
  [[nodiscard]] static Elements of(const Column& column);
  /// The rows of foreign memory. Reads all splits; fails when they, or the sizes, do not fit the memory.
  [[nodiscard]] static Result<Elements> of(const ForeignElements& foreign);
  /// The `rows` rows of a column of a row block, which must be plain. Checks nothing: the block was checked when it was
  /// made.
  [[nodiscard]] static Elements of(const RowColumn& column, std::int64_t rows, DType dtype, const Shape& shape);

  /// One element: all rows, one after the other along the time axis. Fails when the frames of the rows differ in size.
  [[nodiscard]] Result<Elements> joined() const;
  /// One element whose frames are the rows. Fails when the rows differ in size.
  [[nodiscard]] Result<Elements> rows_as_frames() const;

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// The frames of all elements have the same known shape.
  [[nodiscard]] bool uniform() const { return uniform_; }
  /// Sizes of the frames of `row` after the time axis; writes `max(rank, 1) - 1` sizes.
  void frame_sizes(std::int64_t row, std::int64_t* out) const;
  [[nodiscard]] ElementExtent operator[](std::int64_t row) const;

  [[nodiscard]] std::int64_t elements() const;  ///< Values of all rows.
  [[nodiscard]] const std::byte* values() const { return values_; }
  [[nodiscard]] const std::int64_t* byte_splits() const { return byte_splits_; }
  [[nodiscard]] const std::byte* bytes() const { return bytes_; }

 private:
  void set_shape(const Shape& shape);

  DType dtype_ = DType::float32;
  bool uniform_ = true;
  Shape shape_;
  std::int64_t rows_ = 0;
  std::int64_t unknown_ = 0;         // number of unknown dims
  std::int64_t frames_ = 1;          // of every row, or unknown_dim
  std::int64_t frame_elements_ = 1;  // of every row; without a meaning unless uniform
  const std::byte* values_ = nullptr;
  const std::int64_t* splits_ = nullptr;  // null: all rows have the same size
  const std::int64_t* dims_ = nullptr;    // null: the sizes follow from the splits
  const std::int64_t* byte_splits_ = nullptr;
  const std::byte* bytes_ = nullptr;
};

/// Whether the values of a column of a row block are native and follow each other without gaps.
[[nodiscard]] bool plain(const RowColumn& column, DType dtype, const Shape& shape);

inline ElementExtent Elements::operator[](std::int64_t row) const {
  if (splits_ == nullptr) return {row * frames_ * frame_elements_, frames_, frame_elements_};
  const std::int64_t first = splits_[row];
  if (dims_ == nullptr) return {first, (splits_[row + 1] - first) / frame_elements_, frame_elements_};
  const std::int64_t* size = dims_ + row * unknown_;
  const std::int64_t frames = frames_ == unknown_dim ? *size : frames_;
  if (uniform_) return {first, frames, frame_elements_};
  return {first, frames, frames == 0 ? 0 : (splits_[row + 1] - first) / frames};
}

}  // namespace forebay::columns
