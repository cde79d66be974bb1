// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/loader.h>

#include "errors.h"

namespace forebay::python {

/// The counters of a run, and whether it has come to its end.
struct RunStats : Stats {
  bool ended = false;
};

void bind_stats(nb::module_& module);

}  // namespace forebay::python
