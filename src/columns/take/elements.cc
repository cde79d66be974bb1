// SPDX-License-Identifier: Apache-2.0
#include "columns/take/elements.h"

#include <limits>
#include <string>

namespace forebay::columns {

namespace {

Error bad_elements(const std::string& message) { return {Code::data, Detail::invalid_argument, message}; }

/// Splits begin at 0 or later, never fall, and end within `size`.
Result<void> check_splits(std::span<const std::int64_t> splits, std::int64_t count, std::size_t size,
                          const std::string& name) {
  if (count == std::numeric_limits<std::int64_t>::max() || splits.size() != static_cast<std::size_t>(count) + 1)
    return bad_elements(name + ": expected " + std::to_string(count) + " + 1 splits, found " +
                        std::to_string(splits.size()));
  std::int64_t last = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] < last)
      return bad_elements(name + ": split " + std::to_string(i) + " is " + std::to_string(splits[i]) +
                          ", which is less than " + std::to_string(last));
    last = splits[i];
  }
  if (static_cast<std::uint64_t>(last) > size)
    return bad_elements(name + ": the last split is " + std::to_string(last) + ", but there are only " +
                        std::to_string(size));
  return {};
}

/// The number of values that the shape and the splits ask for.
Result<std::int64_t> values_of(const ForeignElements& in) {
  for (std::size_t axis = 0; axis < in.shape.rank(); ++axis) {
    if (in.shape[axis] < 0 && (axis > 0 || in.shape[axis] != unknown_dim))
      return bad_elements("shape " + in.shape.text() + ": only the first size may be unknown");
  }
  std::int64_t frame = 1;
  for (std::size_t axis = 1; axis < in.shape.rank(); ++axis) {
    if (__builtin_mul_overflow(frame, in.shape[axis], &frame))
      return bad_elements("frames of shape " + in.shape.text() + " have too many values");
  }
  if (in.rows < 0) return bad_elements("the number of rows is " + std::to_string(in.rows));
  if (!in.shape.known()) {
    if (in.shape.count() == 0)
      return bad_elements("shape " + in.shape.text() + ": frames without values have no splits");
    if (in.splits.empty()) return bad_elements("splits: expected " + std::to_string(in.rows) + " + 1, found none");
    return in.splits.back();
  }
  std::int64_t count = 0;
  if (__builtin_mul_overflow(in.rows, in.shape.count(), &count))
    return bad_elements(std::to_string(in.rows) + " rows of shape " + in.shape.text() + " are too many values");
  return count;
}

}  // namespace

void Elements::set_shape(const Shape& shape) {
  shape_ = shape;
  unknown_ = static_cast<std::int64_t>(shape.unknown());
  frames_ = shape.rank() == 0 ? 1 : shape[0];
  frame_elements_ = 1;
  uniform_ = unknown_ == 0 || (unknown_ == 1 && frames_ == unknown_dim);
  for (std::size_t axis = 1; uniform_ && axis < shape.rank(); ++axis) frame_elements_ *= shape[axis];
}

Elements Elements::of(const Column& column) {
  Elements out;
  out.dtype_ = column.dtype;
  out.rows_ = column.rows;
  out.set_shape(column.shape);
  out.values_ = column.values.data();
  if (!column.fixed()) {
    out.splits_ = column.row_splits.as<std::int64_t>();
    out.dims_ = column.dims.as<std::int64_t>();
    static constexpr std::int64_t no_dims = 0;
    if (out.dims_ == nullptr) out.dims_ = &no_dims;  // a column without rows
  }
  out.byte_splits_ = column.byte_splits.as<std::int64_t>();
  out.bytes_ = column.bytes.data();
  return out;
}

Result<Elements> Elements::of(const ForeignElements& in) {
  FOREBAY_TRY(const std::int64_t count, values_of(in));
  if (in.dtype == DType::string) {
    FOREBAY_DO(check_splits(in.byte_splits, count, in.bytes.size(), "byte splits"));
  } else if (const std::size_t room = in.values.size() / size_of(in.dtype); static_cast<std::uint64_t>(count) > room) {
    return bad_elements(std::to_string(count) + " values of " + std::string{to_string(in.dtype)} + " do not fit " +
                        std::to_string(in.values.size()) + " bytes");
  }
  Elements out;
  out.dtype_ = in.dtype;
  out.rows_ = in.rows;
  out.set_shape(in.shape);
  out.values_ = in.values.data();
  out.byte_splits_ = in.byte_splits.data();
  out.bytes_ = in.bytes.data();
  if (in.shape.known()) return out;
  FOREBAY_DO(check_splits(in.splits, in.rows, static_cast<std::size_t>(count), "row splits"));
  for (std::size_t row = 0; row + 1 < in.splits.size(); ++row) {
    if ((in.splits[row + 1] - in.splits[row]) % out.frame_elements_ != 0)
      return bad_elements("row " + std::to_string(row) + ": " + std::to_string(in.splits[row + 1] - in.splits[row]) +
                          " values are no whole frames of " + std::to_string(out.frame_elements_));
  }
  out.splits_ = in.splits.data();
  return out;
}

Elements Elements::of(const RowColumn& column, std::int64_t rows, DType dtype, const Shape& shape) {
  Elements out;
  out.dtype_ = dtype;
  out.rows_ = rows;
  out.set_shape(shape);
  out.values_ = column.data;
  out.byte_splits_ = column.byte_splits;
  out.bytes_ = column.bytes;
  if (shape.known()) return out;
  out.splits_ = column.row_splits;
  out.dims_ = column.dims;
  return out;
}

bool plain(const RowColumn& column, DType dtype, const Shape& shape) {
  if (column.swapped) return false;
  if (dtype == DType::string || !shape.known()) return true;
  auto step = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = shape.rank(); axis-- > 0; step *= shape[axis]) {
    if (!column.strides.empty() && shape[axis] > 1 && column.strides[axis] != step) return false;
  }
  return column.row_stride == step;
}

std::int64_t Elements::elements() const {
  if (splits_ == nullptr) return rows_ * frames_ * frame_elements_;
  return rows_ == 0 ? 0 : splits_[rows_] - splits_[0];
}

Result<Elements> Elements::joined() const {
  if (!uniform_) return bad_elements("rows of shape " + shape_.text() + " cannot be joined: their frames differ");
  Elements out = *this;
  std::vector<std::int64_t> sizes = shape_.dims();
  if (sizes.empty()) sizes.push_back(1);
  sizes[0] = 0;
  if (frame_elements_ != 0) sizes[0] = elements() / frame_elements_;
  for (std::int64_t row = 0; frame_elements_ == 0 && row < rows_; ++row) sizes[0] += (*this)[row].frames;
  out.set_shape(Shape{std::move(sizes)});
  const std::int64_t first = splits_ == nullptr || rows_ == 0 ? 0 : splits_[0];
  if (values_ != nullptr) out.values_ += static_cast<std::size_t>(first) * size_of(dtype_);
  if (byte_splits_ != nullptr) out.byte_splits_ += first;
  out.rows_ = 1;
  out.splits_ = out.dims_ = nullptr;
  return out;
}

Result<Elements> Elements::rows_as_frames() const {
  if (splits_ != nullptr) return bad_elements("rows of shape " + shape_.text() + " are no frames: they differ in size");
  Elements out = *this;
  std::vector<std::int64_t> sizes = shape_.dims();
  sizes.insert(sizes.begin(), rows_);
  out.set_shape(Shape{std::move(sizes)});
  out.rows_ = 1;
  return out;
}

void Elements::frame_sizes(std::int64_t row, std::int64_t* out) const {
  const std::int64_t* size = dims_ == nullptr ? nullptr : dims_ + row * unknown_;
  if (size != nullptr && frames_ == unknown_dim) ++size;
  for (std::size_t axis = 1; axis < shape_.rank(); ++axis) {
    *out++ = shape_[axis] == unknown_dim && size != nullptr ? *size++ : shape_[axis];
  }
}

}  // namespace forebay::columns
