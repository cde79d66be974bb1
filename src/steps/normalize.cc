// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/normalize.h>

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "columns/cast.h"
#include "columns/fill.h"
#include "steps/output.h"

namespace forebay::steps {
namespace {

constexpr double epsilon = 1e-8;
constexpr std::int64_t series_at_once = 256;  // neighbours whose statistics are taken together

/// Normalizes `width` neighbouring series in place. Element i of a series is `stride` elements after element i - 1. The
/// sums are of differences from the first element, so the mean of a constant series is exactly its value.
template <class Float>
void normalize_series(Float* values, std::int64_t count, std::int64_t stride, std::int64_t width) {
  std::array<double, series_at_once> first, mean{}, scale{};
  for (std::int64_t k = 0; k < width; ++k) first[static_cast<std::size_t>(k)] = static_cast<double>(values[k]);
  for (std::int64_t i = 0; i < count; ++i) {
    const Float* const at = values + i * stride;
    for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) mean[k] += static_cast<double>(at[k]) - first[k];
  }
  for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k)
    mean[k] = first[k] + mean[k] / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const Float* const at = values + i * stride;
    for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
      const double off = static_cast<double>(at[k]) - mean[k];
      scale[k] += off * off;
    }
  }
  for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
    scale[k] = 1 / (std::sqrt(scale[k] / static_cast<double>(count) + epsilon) + epsilon);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    Float* const at = values + i * stride;
    for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
      at[k] = static_cast<Float>((static_cast<double>(at[k]) - mean[k]) * scale[k]);
    }
  }
}

template <class Float>
void normalize_array(Float* values, std::int64_t outer, std::int64_t count, std::int64_t inner) {
  if (outer == 0 || count == 0 || inner == 0) return;
  for (std::int64_t i = 0; i < outer; ++i, values += count * inner) {
    for (std::int64_t k = 0; k < inner; k += series_at_once)
      normalize_series(values + k, count, inner, std::min(series_at_once, inner - k));
  }
}

/// Normalizes a column along one axis of its rows to mean 0 and standard deviation 1.
/// The plan owns the step. It is immutable: any number of workers call it at once.
class Standardize final : public Step {
 public:
  Standardize(std::string tensor, std::size_t axis, ColumnId from, ColumnId to)
      : tensor_{std::move(tensor)}, axis_{axis}, from_{from}, to_{to} {}

  Result<void> apply(ColumnBlock& columns, const StepContext&, StepMemory*) const override {
    const Column& in = columns[from_];
    Column& out = columns[to_];
    FOREBAY_DO(begin_output(out, in.shape, in.rows).at(Place{.feature = tensor_}));
    const auto count = static_cast<std::size_t>(in.elements());
    if (!in.fixed()) {
      columns::copy_rows(in, out);
      out.values.resize(count * size_of(out.dtype));
    }
    if (out.dtype == DType::float32 || out.dtype == DType::float64) {
      columns::cast(in.values.data(), in.dtype, out.values.data(), out.dtype, count);
      normalize_rows(in, out.dtype, out.values.data());
    } else {  // 16-bit floats: computed in float32 and rounded once at the end
      std::vector<float> wide(count);
      auto* const bytes = reinterpret_cast<std::byte*>(wide.data());
      columns::cast(in.values.data(), in.dtype, bytes, DType::float32, count);
      normalize_rows(in, DType::float32, bytes);
      columns::cast(bytes, DType::float32, out.values.data(), out.dtype, count);
    }
    return {};
  }

 private:
  void normalize_rows(const Column& rows, DType dtype, std::byte* values) const {
    if (rows.fixed()) return normalize_span(rows.shape.dims(), rows.rows, dtype, values);
    const std::int64_t* const splits = rows.row_splits.as<std::int64_t>();
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const auto begin = static_cast<std::size_t>(splits[row]);
      normalize_span(RowSizes{rows, row}.all(), 1, dtype, values + begin * size_of(dtype));
    }
  }

  void normalize_span(std::span<const std::int64_t> sizes, std::int64_t rows, DType dtype, std::byte* values) const {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
    const std::int64_t outer = rows * product(sizes.first(axis_));
    const std::int64_t inner = product(sizes.subspan(axis_ + 1));
    if (dtype == DType::float64) return normalize_array(reinterpret_cast<double*>(values), outer, sizes[axis_], inner);
    normalize_array(reinterpret_cast<float*>(values), outer, sizes[axis_], inner);
  }

  const std::string tensor_;
  const std::size_t axis_;
  const ColumnId from_, to_;
};

Result<Bound<Step>> bind(const Normalize& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  ColumnSpec spec = in[from];
  if (spec.dtype == DType::string || is_complex(spec.dtype)) {
    return refusal(
               fmt::format("'{}' is {}; only real numbers can be normalized", options.tensor, to_string(spec.dtype)))
        .at(Field{"tensor"});
  }
  const auto rank = static_cast<std::int64_t>(spec.shape.rank());
  if (options.axis >= rank || options.axis < -rank) {
    return refusal(rank == 0 ? fmt::format("tensor '{}' has no axis but the batch's", options.tensor)
                             : fmt::format("{} is outside {} to {}, the axes of tensor '{}' of shape {}", options.axis,
                                           -rank, rank - 1, options.tensor, spec.shape.text()))
        .at(Field{"axis"});
  }
  if (!is_float(spec.dtype)) spec.dtype = DType::float32;
  const auto axis = static_cast<std::size_t>(options.axis < 0 ? options.axis + rank : options.axis);
  Schema out = in;
  const ColumnId to = out.put(std::move(spec));
  return Bound<Step>{
      .op = std::make_unique<Standardize>(options.tensor, axis, from, to), .out = std::move(out), .reads = {from}};
}

}  // namespace

StepType normalize() {
  return describe<StepType, Normalize>("normalize",
                                       "Shifts and scales one tensor along an axis to mean 0 and deviation 1.", bind)
      .required("tensor", &Normalize::tensor, "Tensor to normalize; integers become float32.")
      .required("axis", &Normalize::axis,
                "Axis the statistics are taken along, without the batch axis; -1 is the last.")
      .example({.options = R"({"tensor": "x", "axis": 0})",
                .in = R"({"x": [[4.0, 4.0], [2.5, 2.5]]})",
                .out = R"({"x": [[0.0, 0.0], [0.0, 0.0]]})"})
      .example({.options = R"({"tensor": "x", "axis": -1})",
                .in = R"({"x": [[100, 300], [500]]})",
                .out = R"({"x": [[-1.0, 1.0], [0.0]]})"});
}

}  // namespace forebay::steps
