// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds Reader, which forebay.reader makes.
void bind_reader(nb::module_& module);

}  // namespace forebay::python
