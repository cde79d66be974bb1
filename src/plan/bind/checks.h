// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/document/faults.h"

namespace forebay::plan {

struct BoundDocument;  // plan/builder/bound_document.h

/// What can be checked before the columns are bound: that records have a decoder and rows that come ready have none,
/// that rows that come one after the other are read once and in their order, and that the records of an order that
/// needs attributes can be read before it.
void check_source(const BoundDocument& bound, Faults& faults);
/// Checks draws and `skip_row`, which belong to rows of one record, and what steps behind the batcher read.
void check_rows(const BoundDocument& bound, Faults& faults);
/// Checks that the elements of a batcher with lanes are the segments of sequences, in their order.
void check_lanes(const BoundDocument& bound, Faults& faults);
/// Checks that a shard in the document fits the batches. The run checks the shard of a launcher.
void check_shard(const BoundDocument& bound, Faults& faults);

}  // namespace forebay::plan
