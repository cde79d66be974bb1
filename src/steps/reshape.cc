// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/reshape.h>

#include <cstring>

#include <fmt/core.h>

#include "steps/output.h"
#include "steps/rules.h"

namespace forebay::steps {
namespace {

std::string mismatch(const Shape& found, std::int64_t elements, const Shape& wanted) {
  return fmt::format("{} has {} elements and cannot become {}, which has {}", found.text(), elements, wanted.text(),
                     wanted.count());
}

/// Gives the rows of a column another shape with the same number of elements. The plan owns the step.
/// It is immutable: any number of workers call it at once. Fails when a row has another number of elements.
class Regroup final : public Step {
 public:
  Regroup(std::string tensor, Shape shape, ColumnId from, ColumnId to)
      : tensor_{std::move(tensor)}, shape_{std::move(shape)}, from_{from}, to_{to} {}

  Result<void> apply(ColumnBlock& block, const StepContext&, StepMemory*) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(check_rows(in));
    FOREBAY_DO(begin_output(out, shape_, in.rows).at(Place{.feature = tensor_}));
    if (in.dtype == DType::string) {
      columns::Strided all;
      all.wrap(in.rows * shape_.count(), 1);
      columns::append_strings(in, all, out);
    } else if (out.values.size() != 0) {
      std::memcpy(out.values.data(), in.values.data(), out.values.size());
    }
    return {};
  }

 private:
  /// Fails when a row has another number of elements. The planner has checked rows of known sizes.
  Result<void> check_rows(const Column& in) const {
    if (in.fixed()) {
      if (in.rows == 0 || in.shape.count() == shape_.count()) return {};
      return data_fault(tensor_, -1, "shape: " + mismatch(in.shape, in.shape.count(), shape_));
    }
    const std::int64_t* const splits = in.row_splits.as<std::int64_t>();
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const std::int64_t elements = splits[row + 1] - splits[row];
      if (elements != shape_.count())
        return data_fault(tensor_, row, "shape: " + mismatch(in.row_shape(row), elements, shape_));
    }
    return {};
  }

  const std::string tensor_;
  const Shape shape_;
  const ColumnId from_, to_;
};

Result<void> check_sizes(const std::vector<std::int64_t>& sizes) {
  const Shape shape{sizes};
  for (const std::int64_t dim : sizes) {
    if (dim <= 0) return refusal(fmt::format("every dim must be positive; found {}", dim));
  }
  if (shape.rank() > columns::max_rank || shape.count() > max_elements) {
    return refusal(fmt::format("{} axes, {} elements; at most {} axes and {} elements are allowed", shape.rank(),
                               shape.count(), columns::max_rank, max_elements));
  }
  return {};
}

Result<void> check_shape_option(const Json& options) {
  std::vector<Error> none;  // faults of the type are already reported
  auto sizes = JsonCodec<std::vector<std::int64_t>>::read(*options.find("shape"), none);
  return check_sizes(sizes.value_or(std::vector<std::int64_t>{})).at(Field{"shape"});
}

Result<Bound<Step>> bind(const Reshape& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  FOREBAY_DO(check_sizes(options.shape).at(Field{"shape"}));
  const Shape shape{options.shape};
  const Shape& old = in[from].shape;
  // A row of unknown sizes has a multiple of the elements that its known sizes give.
  if (old.known() ? old.count() != shape.count() : old.count() == 0 || shape.count() % old.count() != 0) {
    return refusal(mismatch(old, old.count(), shape)).at(Field{"shape"});
  }
  ColumnSpec spec = in[from];
  spec.shape = shape;
  Schema out = in;
  const ColumnId to = out.put(std::move(spec));
  return Bound<Step>{
      .op = std::make_unique<Regroup>(options.tensor, shape, from, to), .out = std::move(out), .reads = {from}};
}

}  // namespace

StepType reshape() {
  StepType type = describe<StepType, Reshape>(
                      "reshape", "Gives one tensor another shape with as many elements, in the same order.", bind)
                      .required("tensor", &Reshape::tensor, "Tensor to reshape.")
                      .required("shape", &Reshape::shape, "New shape, without the batch axis; every dim is positive.")
                      .example({.options = R"({"tensor": "x", "shape": [3, 2]})",
                                .in = R"({"x": [[[1, 2, 3], [4, 5, 6]]]})",
                                .out = R"({"x": [[[1, 2], [3, 4], [5, 6]]]})"})
                      .example({.options = R"({"tensor": "x", "shape": []})",
                                .in = R"({"x": [["a"], ["b"]]})",
                                .out = R"({"x": ["a", "b"]})"});
  return with_rules(std::move(type), check_shape_option);
}

}  // namespace forebay::steps
