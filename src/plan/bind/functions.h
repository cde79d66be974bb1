// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/format.h>

#include "plan/bind/stages.h"

namespace forebay::plan {

/// Looks up the functions of the program that orders and the batcher ask, and fills them in. A name that the program
/// does not bind to a function is a fault of the option that names it.
void bind_functions(Stages& stages, const BindContext& context, Faults& faults);
void bind_function(std::optional<AskedFunction>& asked, const Stage& stage, const BindContext& context, Faults& faults);

}  // namespace forebay::plan
