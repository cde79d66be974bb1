// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/plugin.h>

namespace forebay {

/// Reads arrays of the program: rows that come ready, so the document has no `decode`. Nothing is read or copied before
/// a row's batch is made.
struct Arrays {
  BindingName bind;  ///< The object is the arrays.
};

}  // namespace forebay
