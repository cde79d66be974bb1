// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Plan, and what it says of itself.
void bind_plan(nanobind::module_& module);

}  // namespace forebay::python
