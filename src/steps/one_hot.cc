// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/one_hot.h>

#include <cstring>

#include <fmt/core.h>

#include "columns/cast.h"
#include "steps/output.h"

namespace forebay::steps {
namespace {

template <class Index, std::size_t size>
void scatter(const Index* indices, std::int64_t count, std::int64_t depth, const std::byte* one, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::int64_t>(indices[i]);
    if (index < 0 || index >= depth) continue;
    std::memcpy(out + (i * depth + index) * static_cast<std::int64_t>(size), one, size);
  }
}

template <class Index>
void scatter(const Index* indices, std::int64_t count, std::int64_t depth, DType dtype, std::byte* out) {
  constexpr std::int8_t number = 1;
  std::byte one[8];
  columns::cast(reinterpret_cast<const std::byte*>(&number), DType::int8, one, dtype, 1);
  switch (size_of(dtype)) {
    case 1:
      return scatter<Index, 1>(indices, count, depth, one, out);
    case 2:
      return scatter<Index, 2>(indices, count, depth, one, out);
    case 4:
      return scatter<Index, 4>(indices, count, depth, one, out);
    default:
      return scatter<Index, 8>(indices, count, depth, one, out);
  }
}

/// Makes one-hot vectors of a column of indices, as a new last axis. The plan owns the step.
/// It is immutable: any number of workers call it at once. Fails when a row gets too many elements.
class Spread final : public Step {
 public:
  Spread(OneHot options, ColumnId from, ColumnId to) : options_{std::move(options)}, from_{from}, to_{to} {}

  Result<void> apply(ColumnBlock& block, const StepContext&, StepMemory*) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    std::vector<std::int64_t> dims = in.shape.dims();
    dims.push_back(options_.depth);
    FOREBAY_DO(begin_output(out, Shape{std::move(dims)}, in.rows).at(Place{.feature = options_.tensor}));
    if (!in.fixed()) FOREBAY_DO(append_rows(in, out));
    if (out.values.size() != 0) std::memset(out.values.data(), 0, out.values.size());
    if (in.dtype == DType::int32) {
      scatter(in.values.as<std::int32_t>(), in.elements(), options_.depth, out.dtype, out.values.data());
    } else {
      scatter(in.values.as<std::int64_t>(), in.elements(), options_.depth, out.dtype, out.values.data());
    }
    return {};
  }

 private:
  Result<void> append_rows(const Column& in, Column& out) const {
    const std::span splits = in.row_splits.span<std::int64_t>();
    const std::size_t unknown = in.shape.unknown();
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      std::int64_t count = 0;
      if (__builtin_mul_overflow(splits[at + 1] - splits[at], options_.depth, &count) || count > max_elements) {
        return Error{Code::data,
                     Detail::resource_exhausted,
                     fmt::format("{} indices times depth {} are more than {} elements", splits[at + 1] - splits[at],
                                 options_.depth, max_elements),
                     {.feature = options_.tensor, .row = row}};
      }
      out.end_row(in.dims.span<std::int64_t>().subspan(at * unknown, unknown));
    }
    out.values.resize(static_cast<std::size_t>(out.elements()) * size_of(out.dtype));
    return {};
  }

  const OneHot options_;
  const ColumnId from_, to_;
};

Result<Bound<Step>> bind(const OneHot& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  ColumnSpec spec = in[from];
  if (spec.dtype != DType::int32 && spec.dtype != DType::int64) {
    return refusal(fmt::format("the indices must be int32 or int64; '{}' is {} (cast it first)", options.tensor,
                               to_string(spec.dtype)))
        .at(Field{"tensor"});
  }
  if (options.depth < 0)
    return refusal(fmt::format("must not be negative; found {}", options.depth)).at(Field{"depth"});
  if (!is_float(options.dtype) && !is_integer(options.dtype)) {
    return refusal(fmt::format("vectors of depth {} are integers or floats, not {}", options.depth,
                               to_string(options.dtype)))
        .at(Field{"dtype"});
  }
  std::vector<std::int64_t> dims = spec.shape.dims();
  dims.push_back(options.depth);
  spec.shape = Shape{std::move(dims)};
  if (spec.shape.count() > max_elements || spec.shape.rank() > columns::max_rank) {
    return refusal(fmt::format("{} makes shape {}; at most {} elements and {} axes are allowed", options.depth,
                               spec.shape.text(), max_elements, columns::max_rank))
        .at(Field{"depth"});
  }
  spec.dtype = options.dtype;
  Schema out = in;
  const ColumnId to = out.put(std::move(spec));
  return Bound<Step>{.op = std::make_unique<Spread>(options, from, to), .out = std::move(out), .reads = {from}};
}

}  // namespace

StepType one_hot() {
  return describe<StepType, OneHot>("one_hot",
                                    "Turns each index into a vector that is 1 at that place and 0 elsewhere.", bind)
      .required("tensor", &OneHot::tensor, "Tensor of indices, int32 or int64.")
      .required("depth", &OneHot::depth, "Length of the vectors: a new last axis; an index outside gives zeros.",
                {.min = 0, .max = max_elements})
      .field("dtype", &OneHot::dtype, "Type of the result, an integer or float.")
      .example({.options = R"({"tensor": "x", "depth": 3})",
                .in = R"({"x": [0, 2, 5]})",
                .out = R"({"x": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]})"})
      .example({.options = R"({"tensor": "x", "depth": 2, "dtype": "int64"})",
                .in = R"({"x": [[0, 1], [-1]]})",
                .out = R"({"x": [[[1, 0], [0, 1]], [[0, 0]]]})"});
}

}  // namespace forebay::steps
