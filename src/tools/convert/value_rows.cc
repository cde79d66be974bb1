// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/value_rows.h"

#include <string_view>

#include <forebay/convert.h>

namespace forebay::tools {

std::vector<std::int64_t> numbers_of(const Tensor& splits) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(splits.count()));
  if (!out.empty()) convert(splits, 0, out);
  return out;
}

namespace {

constexpr std::string_view before_name = "lengths(";

bool is_one_list(const Value* value) {
  return value != nullptr && value->kind == Value::Kind::ragged && value->row_splits.size() == 1;
}

}  // namespace

std::string lengths_name(const std::string& name) { return std::string{before_name} + name + ")"; }

const Value* lengths_beside(const Batch& batch, const std::string& name) {
  const Value* const lengths = batch.find(lengths_name(name));
  const bool fit = is_one_list(lengths) && lengths->values.dtype == DType::int64 && is_one_list(batch.find(name));
  return fit ? lengths : nullptr;
}

bool are_lengths(const Batch& batch, const std::string& name) {
  if (!name.starts_with(before_name) || !name.ends_with(')')) return false;
  const std::size_t size = name.size() - before_name.size() - 1;
  return lengths_beside(batch, name.substr(before_name.size(), size)) != nullptr;
}

Result<ValueRows> ValueRows::make(const Value& value, std::int64_t rows) {
  ValueRows out;
  const std::vector<std::int64_t>& dims = value.values.shape.dims();
  for (std::size_t axis = 1; axis < dims.size(); ++axis) out.width_ *= static_cast<std::size_t>(dims[axis]);
  if (value.kind == Value::Kind::sparse)
    return Error{Code::data, Detail::invalid_argument, "it is sparse; read it as ragged (var_len)"};
  if (value.kind == Value::Kind::dense) {
    if (!dims.empty() && dims.front() == rows) return out;
    return Error{Code::data, Detail::invalid_argument, "it has no batch axis"};
  }
  out.splits_ = numbers_of(value.row_splits.front());
  for (std::size_t level = 1; level < value.row_splits.size(); ++level) {
    const std::vector<std::int64_t> inner = numbers_of(value.row_splits[level]);
    for (std::int64_t& split : out.splits_) split = inner[static_cast<std::size_t>(split)];
  }
  return out;
}

}  // namespace forebay::tools
