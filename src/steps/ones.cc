// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/ones.h>

#include "steps/same_value.h"

namespace forebay::steps {
namespace {

Result<Bound<Step>> bind(const Ones& options, const Schema& in) {
  FOREBAY_TRY(Bound<Step> zeros, bind_same_value({options.tensor, options.shape, options.dtype}, in));
  FOREBAY_TRY(const ColumnId made, zeros.out.find(options.tensor));
  const DType dtype = zeros.out[made].dtype;
  if (dtype == DType::string) {
    return Error{Code::config, Detail::invalid_argument, "dtype: ones are numbers or bools, not string"};
  }
  const Json one = dtype == DType::boolean ? Json{true} : Json{1};
  return bind_same_value({options.tensor, options.shape, options.dtype, one}, in);
}

}  // namespace

StepType ones() {
  return describe<StepType, Ones>("ones", "Makes a tensor whose elements are all 1.", bind)
      .required("tensor", &Ones::tensor, "Name of the new tensor.")
      .required("shape", &Ones::shape, "Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.")
      .required("dtype", &Ones::dtype, "Element type, or the name of a tensor whose type it takes; not string.")
      .example({.options = R"({"tensor": "o", "shape": "x", "dtype": "float32"})",
                .in = R"({"x": [[1, 2], [3]]})",
                .out = R"({"x": [[1, 2], [3]], "o": [[1.0, 1.0], [1.0]]})"});
}

}  // namespace forebay::steps
