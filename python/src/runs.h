// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Run, Plan and Stats: what forebay.loader wraps.
void bind_runs(nb::module_& module);

}  // namespace forebay::python
