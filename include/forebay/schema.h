// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/error.h>

namespace forebay {

inline constexpr std::int64_t unknown_dim = -1;

/// The shape of one row, without the batch axis; `unknown_dim` where rows may differ.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_{dims} {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_{std::move(dims)} {}

  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  [[nodiscard]] const std::vector<std::int64_t>& dims() const { return dims_; }
  [[nodiscard]] bool known() const { return unknown() == 0; }
  [[nodiscard]] std::size_t unknown() const;  ///< Number of unknown dims.
  /// Product of the known dims: the element count when the shape is known. Saturates at 2^62.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::string text() const;            ///< "[2,?,3]"
  void assign(std::int64_t rows, const Shape& row);  ///< Becomes [rows, row…]; reuses its memory.
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

/// How a column whose rows may differ in shape is delivered.
enum class Delivery : std::uint8_t {
  equal,   ///< One dense array; rows of unequal shape in a batch are an error.
  padded,  ///< One dense array; each unknown dim padded at its high side to the batch's maximum, or to a fixed size.
  ragged,  ///< Values and row splits.
  sparse,  ///< Indices, values and dense shape.
};

/// The meaning of the numbers of one level of a ragged column. They count within their record.
enum class Partitioning : std::uint8_t {
  row_splits,    ///< Where each row begins, and the end: from 0 to the size of the level below. Validated.
  row_limits,    ///< Where each row ends. This and the next three are as in the message, not validated.
  row_starts,    ///< Where each row begins.
  value_rowids,  ///< The row of each value, from 0; the largest number is the last row.
  row_lengths,   ///< The length of each row.
};

using ColumnId = std::int32_t;

/// The description of one column. Ids are never reused: a step that changes a tensor makes a new column of the same
/// name.
struct ColumnSpec {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  Delivery delivery = Delivery::equal;
  /// Types of the companion columns of a sparse (index lists) or partitioned ragged column, else empty.
  std::vector<ColumnSpec> parts = {};
  /// Sparse columns whose parts are index lists: one size per part, the dense shape without the batch axis.
  std::vector<std::int64_t> sizes = {};
  bool row_splits_int32 = false;  ///< Ragged: deliver the row splits as int32, not int64.
  std::string pad = {};           ///< Padded: the bytes of one padding element; empty is 0, false or "".
  Partitioning partitioning = Partitioning::row_splits;  ///< For a part of a ragged column.
  /// The meaning of the numbers: "timestamp[us, UTC]", "date[days]", "duration[ns]", "category", "samples[16000 Hz]",
  /// or "samples" of audio whose rows differ in rate. Empty: plain numbers. A step that changes the tensor clears it,
  /// unless the meaning stays.
  std::string logical = {};
  std::shared_ptr<const std::vector<std::string>> categories = {};  ///< Of a "category": the values by code.
};

/// The columns of a pipeline at one point of it: all that were ever made, and those visible by name.
class Schema {
 public:
  /// The visible column of that name; the error names the nearest one.
  [[nodiscard]] Result<ColumnId> find(std::string_view name) const;
  [[nodiscard]] const ColumnSpec& operator[](ColumnId id) const { return columns_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::span<const ColumnId> visible() const { return visible_; }  ///< In order of first definition.
  [[nodiscard]] std::size_t size() const { return columns_.size(); }            ///< Number of ids.

  ColumnId put(ColumnSpec column);  ///< Adds a column; it hides an older one of its name and takes its position.
  void hide(ColumnId id);           ///< Makes a column invisible; its id stays valid.
  void rename(ColumnId id, std::string name);  ///< Renames a column; no visible column may have the new name.
  void keep(std::vector<ColumnId> ids);        ///< Only these are visible from now on, in this order.

 private:
  std::vector<ColumnSpec> columns_;
  std::vector<ColumnId> visible_;
};

}  // namespace forebay
