// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <forebay/batch.h>

#include "errors.h"

namespace forebay::python {

/// Tensors over the memory of Python objects, which this keeps alive. Strings come as (bytes, byte splits, shape).
class Lent {
 public:
  /// `share`: tensors of numbers keep their arrays alive by themselves.
  explicit Lent(bool share = false) : share_{share} {}

  [[nodiscard]] Tensor tensor(nb::handle value, DType wanted, const std::string& what);

 private:
  Tensor texts(nb::tuple value);

  const bool share_;
  std::deque<nb::object> owners_;
  std::deque<std::vector<std::int64_t>> splits_;
};

/// An array over the memory of a tensor; bfloat16 as the type of that name where there is one.
[[nodiscard]] nb::object array_of(const Tensor& tensor);

}  // namespace forebay::python
