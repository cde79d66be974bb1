// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/bind/bound_columns.h"
#include "sources/labelled_files.h"

namespace forebay::plan {

/// The labels of the files of a source; null when they have none.
[[nodiscard]] const sources::LabelledFiles* labels_of(const Source& source);

/// Adds the tensors that say where the record of each row comes from: its key, and the label of its file. They are made
/// by steps that ask which record a row is, before the steps of the document. Complains when there is a tensor of that
/// name.
void add_record_columns(const Source& source, const Stages& stages, BoundColumns& columns, Faults& faults);

}  // namespace forebay::plan
