// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "errors.h"

namespace forebay::python {

/// Adds decode_image and image_format, which forebay.images wraps.
void bind_images(nb::module_& module);

}  // namespace forebay::python
