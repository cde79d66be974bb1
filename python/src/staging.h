// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <forebay/run_options.h>

#include "errors.h"

namespace forebay::python {

/// Page-locked memory that Python holds.
struct PyPinned {
  std::shared_ptr<PinnedMemory> memory;
};

/// Adds Staging and StagedTensors, which forebay._prefetch uses, and PinnedMemory for `load`.
void bind_staging(nb::module_& module);

}  // namespace forebay::python
