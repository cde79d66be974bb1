// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// read_records, write_records, index_files, encode_example, decode_example: what forebay.records wraps.
void bind_records(nb::module_& module);

}  // namespace forebay::python
