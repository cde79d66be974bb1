// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds Staging and StagedTensors, which forebay._prefetch uses.
void bind_staging(nb::module_& module);

}  // namespace forebay::python
