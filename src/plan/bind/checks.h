// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/format.h>

#include "plan/bind/bound_columns.h"
#include "plan/bind/stages.h"
#include "plan/document/faults.h"

namespace forebay::plan {

enum class Combines : std::uint8_t { nothing, is_branch, branches };  ///< What a document has to do with a combination.

/// A bound document, whose parts are checked against each other.
struct BoundDocument {
  const Json& json;
  const PipelineDocument& document;
  const Stages& stages;
  const Source& source;
  const BoundColumns& columns;
  Combines combines = Combines::nothing;
  bool made = false;  ///< The rows are made by the stretches before this one.
};

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
