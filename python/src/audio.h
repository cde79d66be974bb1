// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds decode_audio, log_mel and mfcc, which forebay.audio wraps.
void bind_audio(nb::module_& module);

}  // namespace forebay::python
