// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace forebay::python {

void bind_decode(nanobind::module_& module);  ///< Decoders as functions.

}  // namespace forebay::python
