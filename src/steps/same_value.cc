// SPDX-License-Identifier: Apache-2.0
#include "steps/same_value.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "base/keep.h"
#include "columns/fill.h"
#include "steps/output.h"
#include "steps/slice_text.h"

namespace forebay::steps {
namespace {

/// Makes a column whose elements all have one value, with a given shape or the shape of another column.
/// The plan owns the step. It is immutable: any number of workers call it at once.
class Fill final : public Step {
 public:
  Fill(std::string tensor, std::vector<std::byte> element, Shape shape, std::optional<ColumnId> like, ColumnId to)
      : tensor_{std::move(tensor)}, element_{std::move(element)}, shape_{std::move(shape)}, like_{like}, to_{to} {}

  Result<void> apply(ColumnBlock& block, const StepContext&, StepMemory*) const override {
    const Column* const like = like_ ? &block[*like_] : nullptr;
    Column& out = block[to_];
    const std::int64_t rows = like != nullptr ? like->rows : block.rows;
    FOREBAY_DO(begin_output(out, like != nullptr ? like->shape : shape_, rows).at(Place{.feature = tensor_}));
    const bool fixed = out.fixed();
    if (!fixed) columns::copy_rows(*like, out);
    const auto count = static_cast<std::size_t>(out.elements());
    if (out.dtype == DType::string) {
      columns::fill_strings(out, element_, count);
    } else {
      if (!fixed) out.values.resize(count * element_.size());
      columns::fill(out.values.data(), element_, count);
    }
    return {};
  }

 private:
  const std::string tensor_;
  const std::vector<std::byte> element_;
  const Shape shape_;
  const std::optional<ColumnId> like_;
  const ColumnId to_;
};

/// Parses a shape in the text forms of older documents: "[2,3]", "(2,3)" or "2,3". Empty: not a shape.
std::optional<Shape> shape_from(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool square = text.starts_with('[') && text.ends_with(']');
  const bool round = text.starts_with('(') && text.ends_with(')');
  if (square || round) text = text.substr(1, text.size() - 2);
  if ((square || round) && text.find_first_not_of(' ') == std::string_view::npos) return Shape{};
  std::vector<std::int64_t> dims;
  for (std::size_t begin = 0; begin <= text.size() && dims.size() <= columns::max_rank;) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto dim = parse_integer(text.substr(begin, end - begin));
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
    begin = end + 1;
  }
  return Shape{std::move(dims)};
}

Result<Shape> checked(Shape shape) {
  for (const std::int64_t dim : shape.dims()) {
    if (dim < 0) return refusal(fmt::format("a dim must not be negative; found {}", dim));
  }
  if (shape.rank() > columns::max_rank || shape.count() > max_elements) {
    return refusal(fmt::format("{} axes, {} elements; at most {} axes and {} elements are allowed", shape.rank(),
                               shape.count(), columns::max_rank, max_elements));
  }
  return shape;
}

/// Reads a shape that is given as a list or as text, instead of by the name of a tensor.
Result<Shape> literal_shape(const Json& json, const Schema& in) {
  if (json.is(Json::Kind::array)) {
    std::vector<Error> faults;
    auto dims = JsonCodec<std::vector<std::int64_t>>::read(json, faults);
    if (!dims) return Error::all(std::move(faults));
    return checked(Shape{*std::move(dims)});
  }
  if (!json.is(Json::Kind::string)) {
    return refusal(fmt::format("expected a list of integers or the name of a tensor, found {}", json.kind_name()));
  }
  if (auto shape = shape_from(json.string())) return checked(*std::move(shape));
  return in.find(json.string()).error();
}

Result<DType> dtype_named(const std::string& name, const Schema& in) {
  if (const auto dtype = dtype_from(name)) return *dtype;
  const auto id = in.find(name);
  if (!id.ok()) return refusal(fmt::format("'{}' is neither a type nor a tensor: {}", name, id.error().message()));
  return in[*id].dtype;
}

}  // namespace

Result<Bound<Step>> bind_same_value(const Constant& options, const Schema& in, const ElementOf& element) {
  ColumnSpec spec{.name = options.tensor};
  std::vector<Error> faults;
  if (const auto free = check_new_name(options.tensor, in); !free.ok()) keep(free.error().at(Field{"tensor"}), faults);
  std::optional<ColumnId> like;
  const Json& shape = options.shape.json();
  if (shape.is(Json::Kind::string) && in.find(shape.string()).ok()) {
    like = keep(find_dense(in, shape.string()).at(Field{"shape"}), faults);
    if (like) spec.shape = in[*like].shape, spec.delivery = in[*like].delivery;
  } else if (auto sizes = keep(literal_shape(shape, in).at(Field{"shape"}), faults)) {
    spec.shape = *std::move(sizes);
  }
  const auto dtype = keep(dtype_named(options.dtype, in).at(Field{"dtype"}), faults);
  std::optional<std::vector<std::byte>> bytes;
  if (dtype) bytes = keep(element(*dtype), faults);
  if (!faults.empty()) return Error::all(std::move(faults));
  spec.dtype = *dtype;
  Schema out = in;
  Shape row = spec.shape;
  const ColumnId to = out.put(std::move(spec));
  Bound<Step> bound{.op = std::make_unique<Fill>(options.tensor, *std::move(bytes), std::move(row), like, to),
                    .out = std::move(out)};
  if (like) bound.reads.push_back(*like);
  return bound;
}

}  // namespace forebay::steps
