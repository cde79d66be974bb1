// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/field_types.h>

namespace forebay {

/// Passes on the records of a pass up to the first one for which a condition over their tensors does not hold, and ends
/// the pass there. The condition is computed as that of `filter`.
struct TakeWhile {
  Expression where;    ///< Which records stay: "loss < 4.5" (docs/expressions.md).
  bool early = false;  ///< The condition may read the output of an expensive step, which then runs twice.
};

}  // namespace forebay
