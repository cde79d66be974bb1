// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/cast.h>

#include <fmt/core.h>

#include "columns/cast.h"
#include "columns/fill.h"
#include "steps/output.h"

namespace forebay::steps {
namespace {

/// Converts a column to another dtype; the shape stays.
/// The plan owns the step. It is immutable: any number of workers call it at once.
class Convert final : public Step {
 public:
  Convert(std::string tensor, ColumnId from, ColumnId to) : tensor_{std::move(tensor)}, from_{from}, to_{to} {}

  Result<void> apply(ColumnBlock& block, const StepContext&, StepMemory*) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(begin_output(out, in.shape, in.rows).at(Place{.feature = tensor_}));
    const auto count = static_cast<std::size_t>(in.elements());
    if (!in.fixed()) {
      columns::copy_rows(in, out);
      out.values.resize(count * size_of(out.dtype));
    }
    columns::cast(in.values.data(), in.dtype, out.values.data(), out.dtype, count);
    return {};
  }

 private:
  const std::string tensor_;
  const ColumnId from_, to_;
};

bool converts(DType dtype) { return dtype != DType::string && !is_complex(dtype); }

Result<Bound<Step>> bind(const Cast& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  ColumnSpec spec = in[from];
  if (spec.dtype == options.dtype) return Bound<Step>{.op = no_work(), .out = in};
  if (!converts(spec.dtype) || !converts(options.dtype)) {
    return refusal(fmt::format("tensor '{}' is {} and cannot be cast to {}; only real numbers and bools convert into "
                               "each other",
                               options.tensor, to_string(spec.dtype), to_string(options.dtype)))
        .at(Field{"dtype"});
  }
  spec.dtype = options.dtype;
  Schema out = in;
  const ColumnId to = out.put(std::move(spec));
  return Bound<Step>{.op = std::make_unique<Convert>(options.tensor, from, to), .out = std::move(out), .reads = {from}};
}

}  // namespace

StepType cast() {
  return describe<StepType, Cast>("cast", "Changes the element type of one tensor.", bind)
      .required("tensor", &Cast::tensor, "Tensor to convert; not a string or complex one.")
      .required("dtype", &Cast::dtype, "Type it gets; not string or complex.")
      .example({.options = R"({"tensor": "x", "dtype": "int32"})",
                .in = R"({"x": [[1.5, -1.5], [0.0, 7.0]]})",
                .out = R"({"x": [[1, -1], [0, 7]]})"})
      .example({.options = R"({"tensor": "x", "dtype": "bool"})",
                .in = R"({"x": [[1, 0], [-3]]})",
                .out = R"({"x": [[true, false], [true]]})"});
}

}  // namespace forebay::steps
