// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plan/bind/bound_columns.h"
#include "sources/labelled_files.h"

namespace forebay::plan {

/// Name of the step that makes the labels.
inline constexpr std::string_view label_step = "label_from";

/// The labels of the files of a source; null when they have none.
[[nodiscard]] const sources::LabelledFiles* labels_of(const Source& source);

/// Adds the tensor that has the label of each row's file. It is made late, by a step that asks which record a row is.
/// Complains when the decoder has a tensor of that name.
void add_labels(const sources::LabelledFiles& files, const Stages& stages, BoundColumns& columns, Faults& faults);

}  // namespace forebay::plan
