// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds Function, which forebay.rows makes of a callable.
void bind_functions(nb::module_& module);

}  // namespace forebay::python
