// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <forebay/field_types.h>

namespace forebay {

/// What an order by a function moves.
enum class Reordered : std::uint8_t {
  records,  ///< Records of all files, by the indexes of the files.
  files,    ///< Whole files, which are then read one after the other.
};

/// Gives the records of all files, or the files, in the order that a function of the program says for each epoch. It
/// opens the files itself, so there is no `interleave` with it. It holds 8 bytes for each place of an epoch.
///
/// The function is asked with (epoch, how many there are) and answers with numbers from 0 on: any number of them, in
/// any order, each any number of times. It must be pure: a restart asks again.
struct Reorder {
  BindingName bind;                   ///< Name of the function that the program binds.
  Reordered of = Reordered::records;  ///< What it orders.
};

}  // namespace forebay
