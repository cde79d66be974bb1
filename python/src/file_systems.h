// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

void bind_file_systems(nb::module_& module);

}  // namespace forebay::python
