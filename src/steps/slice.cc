// SPDX-License-Identifier: Apache-2.0
// Read this first if you write a step; it is the smallest complete one.
#include <forebay/plugin.h>
#include <forebay/steps/slice.h>

#include "steps/output.h"
#include "steps/rules.h"
#include "steps/slice_cut.h"

namespace forebay::steps {
namespace {

class Cut final : public Step {
 public:
  Cut(const Slice& options, std::vector<SliceItem> items, ColumnId from, ColumnId to)
      : options_{options}, items_{std::move(items)}, from_{from}, to_{to} {}

  // Any number of workers call this at once, so it is const. It gets whole columns. It uses the shape of the column,
  // not that of the schema: after the batch, a size that was unknown at binding may be known.
  Result<void> apply(ColumnBlock& block, const StepContext&, StepMemory*) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    auto shape = cut_shape(in.shape, items_);
    if (!shape.ok()) return fault(shape.error(), -1);
    FOREBAY_DO(begin_output(out, *std::move(shape), in.rows).at(Place{.feature = options_.tensor}));
    if (!in.fixed()) return cut_each_row(in, out);
    FOREBAY_TRY(columns::Strided all, cut_row(in.shape.dims(), items_));
    all.wrap(in.rows, in.shape.count());  // the batch is one more axis
    if (in.dtype == DType::string) {
      columns::append_strings(in, all, out);
    } else {
      columns::copy_strided(in.values.data(), size_of(in.dtype), all, out.values.data());
    }
    return {};
  }

 private:
  Result<void> cut_each_row(const Column& in, Column& out) const {
    const std::size_t size = size_of(in.dtype);
    std::array<std::int64_t, columns::max_rank> kept;
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const RowSizes sizes{in, row};
      auto piece = cut_row(sizes.all(), items_);
      if (!piece.ok()) return fault(piece.error(), row);
      piece->shift(in.row_splits.as<std::int64_t>()[row]);
      const auto bytes = static_cast<std::size_t>(piece->count()) * size;
      if (in.dtype == DType::string) {
        columns::append_strings(in, *piece, out);
      } else {
        std::byte* const to =
            out.fixed() ? out.values.data() + static_cast<std::size_t>(row) * bytes : out.values.extend(bytes);
        columns::copy_strided(in.values.data(), size, *piece, to);
      }
      if (!out.fixed()) out.end_row(unknown_sizes(in.shape, sizes.all(), kept));
    }
    return {};
  }

  /// Returns the sizes of this row on the unknown axes that remain in the piece. The result points into `kept`.
  std::span<const std::int64_t> unknown_sizes(const Shape& shape, std::span<const std::int64_t> row,
                                              std::span<std::int64_t> kept) const {
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < row.size(); ++axis) {
      if (shape[axis] != unknown_dim || (axis < items_.size() && items_[axis].index)) continue;
      kept[count++] = axis < items_.size() ? kept_of(items_[axis], row[axis]) : row[axis];
    }
    return kept.first(count);
  }

  Error fault(const Error& error, std::int64_t row) const {
    return data_fault(options_.tensor, row, error.at(slice_label(options_.slice)).message());
  }

  const Slice options_;
  const std::vector<SliceItem> items_;
  const ColumnId from_, to_;
};

// The planner calls it once. It reports every fault of the options and states the output columns.
Result<Bound<Step>> bind(const Slice& options, const Schema& in) {
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  FOREBAY_TRY(std::vector<SliceItem> items, parse_slice(options.slice).at(Field{"slice"}));
  ColumnSpec piece = in[from];
  FOREBAY_TRY(piece.shape, cut_shape(in[from].shape, items).at(slice_label(options.slice)).at(Field{"slice"}));
  Schema out = in;
  const ColumnId to = out.put(std::move(piece));  // of the same name: later steps see the piece
  return Bound<Step>{.op = std::make_unique<Cut>(options, std::move(items), from, to),
                     .out = std::move(out),
                     .reads = {from}};  // the planner has only these columns decoded
}

Result<void> check_text(const Json& options) {
  const auto items = parse_slice(options.find("slice")->string());
  return items.ok() ? Result<void>{} : items.error().at(Field{"slice"});
}

}  // namespace

StepType slice() {
  StepType type =
      describe<StepType, Slice>("slice", "Cuts a rectangular piece out of one tensor; the piece replaces it.", bind)
          .required("tensor", &Slice::tensor, "Tensor to cut.")
          .required("slice", &Slice::slice, "Python-style, without the batch axis: [3,:,4:,:-2,1:4].")
          .example({.options = R"({"tensor": "x", "slice": "[0]"})",
                    .in = R"({"x": [[1, 2], [3, 4]]})",
                    .out = R"({"x": [1, 3]})"})
          .example({.options = R"({"tensor": "x", "slice": "[::-1, 1:]"})",
                    .in = R"({"x": [[[1, 2, 3], [4, 5, 6]]]})",
                    .out = R"({"x": [[[5, 6], [2, 3]]]})"})
          .example({.options = R"({"tensor": "x", "slice": "[:2]"})",
                    .in = R"({"x": [["a", "b", "c"], ["d"], []]})",
                    .out = R"({"x": [["a", "b"], ["d"], []]})"});
  return with_rules(std::move(type), check_text);
}

}  // namespace forebay::steps
