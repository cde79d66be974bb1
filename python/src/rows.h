// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/rows.h>

#include "errors.h"

namespace forebay::python {

/// Adds Rows, which forebay.rows makes of arrays.
void bind_rows(nb::module_& module);

/// The bindings of a dict of name → Rows or Function.
[[nodiscard]] Bindings bindings_of(const nb::dict& bound);

}  // namespace forebay::python
