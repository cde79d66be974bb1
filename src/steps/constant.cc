// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/constant.h>

#include "columns/scalar.h"
#include "steps/same_value.h"

namespace forebay::steps {
namespace {

Result<Bound<Step>> bind(const Constant& options, const Schema& in) {
  return bind_same_value(options, in, [&](DType dtype) {
    return columns::element_from(JsonCodec<Scalar>::write(options.value), dtype).at(Field{"value"});
  });
}

}  // namespace

StepType constant() {
  return describe<StepType, Constant>("constant", "Makes a tensor whose elements are all the same.", bind)
      .required("tensor", &Constant::tensor, "Name of the new tensor, which no other one has.")
      .required("shape", &Constant::shape,
                "Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.")
      .required("dtype", &Constant::dtype, "Element type, or the name of a tensor whose type it takes.")
      .field("value", &Constant::value, "The element; null: 0, false or \"\".")
      .example({.options = R"({"tensor": "c", "shape": [2], "dtype": "float32", "value": 0.5})",
                .in = R"({"x": [1, 2]})",
                .out = R"({"x": [1, 2], "c": [[0.5, 0.5], [0.5, 0.5]]})"})
      .example({.options = R"({"tensor": "c", "shape": "x", "dtype": "string", "value": "?"})",
                .in = R"({"x": [[1, 2], [3]]})",
                .out = R"({"x": [[1, 2], [3]], "c": [["?", "?"], ["?"]]})"});
}

}  // namespace forebay::steps
