// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/inspect.h>

#include "tools/inspect/inspected.h"

namespace forebay::tools {

/// The report as docs/inspect.md describes it.
[[nodiscard]] Json report_of(const Inspected& found);

}  // namespace forebay::tools
