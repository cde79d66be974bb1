// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds StateSaver, which forebay.state_saver makes, and SegmentBatch.
void bind_state_saver(nb::module_& module);

}  // namespace forebay::python
