// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/field_types.h>

namespace forebay {

/// Gives the records of all files in the order that a function of the program says for each epoch, by the indexes of
/// the files. It opens the files itself, so there is no `interleave` with it. It holds 8 bytes for each place of an
/// epoch.
///
/// The function is asked with (epoch, number of records) and answers with numbers of records, from 0 on: any number of
/// them, in any order, each any number of times. It must be pure: a restart asks again.
struct Reorder {
  BindingName bind;  ///< Name of the function that the program binds.
};

}  // namespace forebay
