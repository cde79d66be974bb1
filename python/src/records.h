// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/format.h>

#include "errors.h"

namespace forebay::python {

/// Adds read_records, write_records, index_files, and the codecs of Examples and SequenceExamples, which
/// forebay.records wraps.
void bind_records(nb::module_& module);
/// Adds verify, which forebay.corruption wraps.
void bind_verify(nb::module_& module);

/// The compression of that name. Throws an exception that names all of them.
[[nodiscard]] Compression compression_of(const std::string& name);

}  // namespace forebay::python
