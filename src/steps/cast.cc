// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/cast.h>

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "columns/cast.h"
#include "columns/fill.h"
#include "steps/output.h"
#include "steps/text/strings.h"

namespace forebay::steps {
namespace {

/// Converts a column to another dtype; the shape stays.
/// The plan owns the step. It is immutable: any number of workers call it at once.
class Convert final : public Step {
 public:
  Convert(Cast options, ColumnId from, ColumnId to) : options_{std::move(options)}, from_{from}, to_{to} {}

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory*) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(begin_output(out, in.shape, in.rows).at(Place{.feature = options_.tensor}));
    const auto count = static_cast<std::size_t>(in.elements());
    if (!in.fixed()) {
      columns::copy_rows(in, out);
      out.values.resize(count * size_of(out.dtype));
    }
    columns::cast(in.values.data(), in.dtype, out.values.data(), out.dtype, count);
    if (options_.out_of_range == OutOfRange::error) FOREBAY_DO(check(in, out, context));
    return {};
  }

 private:
  Result<void> check(const Column& in, Column& out, const StepContext& context) const {
    const std::size_t size = size_of(in.dtype);
    const std::size_t count = in.values.size() / size;
    for (std::size_t at = 0; at < count;) {
      const auto found =
          columns::first_out_of_range(in.values.data() + at * size, in.dtype, options_.dtype, count - at);
      if (!found) return {};
      at += *found;
      const std::int64_t row = row_of(in, static_cast<std::int64_t>(at));
      Error fault = data_fault(options_.tensor, row,
                               fmt::format("{} is outside the range of {}; give `dtype` a wider type, or set "
                                           "`out_of_range` to \"wrap\"",
                                           text_of(in.values.data() + at * size, in.dtype), to_string(options_.dtype)));
      if (context.faults == nullptr) return fault;
      context.faults->add(row, std::move(fault));
      const ElementRange bad = elements_of(in, row);
      const std::size_t width = size_of(out.dtype);
      std::memset(out.values.data() + static_cast<std::size_t>(bad.begin) * width, 0,
                  static_cast<std::size_t>(bad.end - bad.begin) * width);
      at = static_cast<std::size_t>(bad.end);
    }
    return {};
  }

  static std::string text_of(const std::byte* element, DType dtype) {
    const auto as = [&]<class T>(T value, DType type) {
      columns::cast(element, dtype, reinterpret_cast<std::byte*>(&value), type, 1);
      return fmt::format("{}", value);
    };
    if (is_float(dtype)) return as(0.0, DType::float64);
    return dtype == DType::uint64 ? as(std::uint64_t{0}, dtype) : as(std::int64_t{0}, DType::int64);
  }

  /// The row of an element.
  static std::int64_t row_of(const Column& in, std::int64_t element) {
    if (in.fixed()) return element / in.shape.count();
    const std::span splits = in.row_splits.span<std::int64_t>();
    return std::ranges::upper_bound(splits, element) - splits.begin() - 1;
  }

  const Cast options_;
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
  return Bound<Step>{.op = std::make_unique<Convert>(options, from, to), .out = std::move(out), .reads = {from}};
}

}  // namespace

StepType cast() {
  return describe<StepType, Cast>("cast", "Changes the element type of one tensor.", bind)
      .required("tensor", &Cast::tensor, "Tensor to convert; not a string or complex one.")
      .required("dtype", &Cast::dtype, "Type it gets; not string or complex.")
      .field("out_of_range", &Cast::out_of_range,
             "wrap: a value that the type does not hold loses its high bits, as in tf.cast; error: a fault of the row.")
      .example({.options = R"({"tensor": "x", "dtype": "int32"})",
                .in = R"({"x": [[1.5, -1.5], [0.0, 7.0]]})",
                .out = R"({"x": [[1, -1], [0, 7]]})"})
      .example({.options = R"({"tensor": "x", "dtype": "bool"})",
                .in = R"({"x": [[1, 0], [-3]]})",
                .out = R"({"x": [[true, false], [true]]})"});
}

}  // namespace forebay::steps
