// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <forebay/rows.h>
#include <nanobind/nanobind.h>

/// Tables that come through the Arrow C data interface, in the capsules of its protocol for Python.
namespace forebay::python {

/// A table that Python lends to runs.
struct Table {
  std::shared_ptr<const RowTable> rows;
};

void bind_arrow(nanobind::module_& module);

}  // namespace forebay::python
