// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/dtype.h>
#include <forebay/scalar.h>
#include <forebay/schema.h>

namespace forebay {

/// A state that the program keeps for each sequence: an array of numbers.
struct StateOptions {
  DType dtype = DType::float32;
  Shape shape = {};     ///< Of one sequence; all sizes known.
  Scalar initial = {};  ///< Every element of the state of a new sequence. Left out: 0 or false.
};

using StateMap = std::vector<std::pair<std::string, StateOptions>>;

/// What becomes of the last sequences, when there are fewer of them than rows.
enum class LaneRest : std::uint8_t {
  pad,   ///< They go on to their ends, with empty rows in the places of the others.
  drop,  ///< They are left out from there on.
};

/// Batches of segments whose rows are lanes: row i goes on with the sequence of row i of the batch before, until its
/// last segment; then it takes the next sequence of the order. Stands directly after `unroll`.
///
///     sequences a (2 segments), b (1), c (3), batch_size 2:     a0  a1  (empty) (empty)
///                                                              b0  c0  c1      c2
struct Stateful {
  std::int64_t batch_size = 32;        ///< Rows of a batch, at most 4,096.
  StateMap states;                     ///< By name (Batch::state, Batch::save_state).
  LaneRest remainder = LaneRest::pad;  ///< Handling of the last sequences.
  Pad pad = true;
};

}  // namespace forebay
