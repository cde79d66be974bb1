// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/value_rows.h"

#include <forebay/convert.h>

namespace forebay::tools {

std::vector<std::int64_t> numbers_of(const Tensor& splits) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(splits.count()));
  if (!out.empty()) convert(splits, 0, out);
  return out;
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
