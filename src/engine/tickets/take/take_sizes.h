// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

/// Decides, when a batch of spans is cut, which tensors the tickets write in their final form, and which spans each
/// ticket takes.
///
/// A tensor is written in its final form, so that each value is copied once, when
/// * it is dense, of numbers, and only the first axis of its rows varies,
/// * no step inside the ticket reads it,
/// * all its spans have known lengths (RowSpans::to_the_end is none), so its largest row is known.
/// Other columns grow in the tickets, and the Finisher joins them.
///
/// Immutable; the Executor owns it.
class TakeSizes {
 public:
  static constexpr std::int64_t one_ticket = std::numeric_limits<std::int64_t>::max();  ///< A share.

  explicit TakeSizes(const Program& program);

  /// Sets `taken` and `row_bytes` of the job. `in_place`: bytes of a row by batched output, where the plan knows them.
  void measure(std::span<const std::size_t> in_place, Job& job) const;
  /// The number of tickets that the batch can be cut into at most.
  [[nodiscard]] static std::int64_t pieces(const BatchLayout& layout);
  /// Bytes of work: of what the tickets write, and of `element_bytes` where elements are decoded first.
  [[nodiscard]] std::int64_t bytes(const Job& job, std::int64_t element_bytes) const;
  /// Cuts tickets of about `share` bytes of work. Rows that use the same element stay together, if they are not many:
  /// every ticket decodes the elements that it uses. A long row of several spans is shared by several tickets when all
  /// its columns are written in their final form.
  void cut(std::int64_t share, Job& job) const;

 private:
  /// A tensor that may be written in its final form.
  struct Candidate {
    std::size_t output;  // of Program::batched
    std::size_t axis;
  };
  void add_candidate(ColumnId column, std::size_t axis);
  void measure_output(const Candidate& candidate, Job& job) const;
  [[nodiscard]] bool counts_elements(const Job& job) const;
  [[nodiscard]] bool may_share_rows(const Job& job) const;

  const Program& program_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> axes_;          // by batched output
  std::vector<std::int64_t> frame_bytes_;  // by axis: of a frame of all columns
};

}  // namespace forebay::engine
