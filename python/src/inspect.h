// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

/// Adds inspect, inspect_plan and find_source, which forebay.inspection wraps.
void bind_inspect(nanobind::module_& module);

}  // namespace forebay::python
