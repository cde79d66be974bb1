// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/field_types.h>

namespace forebay {

/// Puts all records of all files in the order of an integer, by the indexes of the files and their stored attributes.
/// Records with equal numbers stay in the order of the files. It opens the files itself, so there is no `interleave`
/// with it. It holds 4 bytes a record; making the order takes 32 bytes a record.
struct Sorted {
  Expression by;            ///< The integer: "length(tokens)" (docs/expressions.md).
  bool descending = false;  ///< The largest numbers come first.
};

}  // namespace forebay
