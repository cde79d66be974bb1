// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds Queue, which forebay.queue makes.
void bind_queue(nb::module_& module);

}  // namespace forebay::python
