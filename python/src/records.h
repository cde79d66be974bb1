// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/format.h>

#include "errors.h"

namespace forebay::python {

/// read_records, write_records, index_files, encode_example, decode_example: what forebay.records wraps.
void bind_records(nb::module_& module);
/// verify: what forebay.corruption wraps.
void bind_verify(nb::module_& module);

/// The compression of that name, or the exception that says which there are.
[[nodiscard]] Compression compression_of(const std::string& name);

}  // namespace forebay::python
