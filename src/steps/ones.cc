// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/ones.h>

#include <fmt/core.h>

#include "columns/scalar.h"
#include "steps/output.h"
#include "steps/same_value.h"

namespace forebay::steps {
namespace {

Result<Bound<Step>> bind(const Ones& options, const Schema& in) {
  const auto one = [](DType dtype) -> Result<std::vector<std::byte>> {
    if (dtype == DType::string || is_complex(dtype))
      return refusal(fmt::format("ones are real numbers or bools, not {}", to_string(dtype))).at(Field{"dtype"});
    return columns::element_from(dtype == DType::boolean ? Json{true} : Json{1}, dtype);
  };
  return bind_same_value({options.tensor, options.shape, options.dtype}, in, one);
}

}  // namespace

StepType ones() {
  return describe<StepType, Ones>("ones", "Makes a tensor whose elements are all 1.", bind)
      .required("tensor", &Ones::tensor, "Name of the new tensor, which no other one has.")
      .required("shape", &Ones::shape, "Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.")
      .required("dtype", &Ones::dtype,
                "Element type, or the name of a tensor whose type it takes; not string or complex.")
      .example({.options = R"({"tensor": "o", "shape": "x", "dtype": "float32"})",
                .in = R"({"x": [[1, 2], [3]]})",
                .out = R"({"x": [[1, 2], [3]], "o": [[1.0, 1.0], [1.0]]})"});
}

}  // namespace forebay::steps
