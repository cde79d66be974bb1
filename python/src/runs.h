// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds Run, Plan and Stats, which forebay.loader wraps.
void bind_runs(nb::module_& module);

}  // namespace forebay::python
