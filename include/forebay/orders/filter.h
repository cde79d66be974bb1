// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/field_types.h>

namespace forebay {

/// Passes on the records for which a condition over their tensors holds. The condition is computed when a record is
/// read, before the order is decided. It sees the tensors as they are at the filter's place among the steps.
struct Filter {
  Expression where;    ///< Which records stay: "label >= 0 and length(tokens) < 4096" (docs/expressions.md).
  bool early = false;  ///< The condition may read the output of an expensive step, which then runs twice.
};

}  // namespace forebay
