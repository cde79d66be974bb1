// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <forebay/combine.h>

#include "engine/program/program.h"

namespace forebay::engine {

/// Which branch of a combination gives the next element, and when a pass ends. Knows no elements, so that a stream and
/// a count go through the same turns.
///
///     begin(pass) ─► next: a branch ─┬─► took ─────────────────────────► next …
///                                    └─► ended: its epoch is over ─────► next …  ─► none: the pass is over
class Turns {
 public:
  static constexpr auto none = static_cast<std::size_t>(-1);

  /// `program` has branches that are not side by side, and outlives this object.
  explicit Turns(const Program& program)
      : program_{program},
        combiner_{program.combining.make({.seed = program.seed, .branches = program.branches.size()})},
        most_{program.combining.end.when == PassEnd::When::rows ? program.combining.end.rows : -1} {}

  void begin(std::int64_t pass);
  /// The branch whose turn it is, the same one until `took` or `ended`; `none` at the end of the pass.
  [[nodiscard]] std::size_t next() {
    if (chosen_ != none || over_) return chosen_;
    over_ = open_left_ == 0 || given_ == most_;
    if (!over_) chosen_ = combiner_->next(open_);
    return chosen_;
  }
  void took() {  ///< That branch has given an element.
    chosen_ = none;
    ++given_;
  }
  /// That branch has no element left in its epoch, of which it gave none where `empty`. Returns whether it begins its
  /// next one at once; it stays the one whose turn it is then.
  bool ended(bool empty);

  [[nodiscard]] std::int64_t given() const { return given_; }  ///< Elements of the pass.
  /// Whether the branch came to the end of an epoch in this pass.
  [[nodiscard]] bool completed(std::size_t branch) const { return completed_[branch]; }

 private:
  const Program& program_;
  const std::unique_ptr<Combiner> combiner_;
  const std::int64_t most_;  // elements of a pass; -1: as many as there are
  std::vector<bool> open_;   // may have elements left in this pass
  std::size_t open_left_ = 0;
  std::vector<bool> completed_;
  std::size_t chosen_ = none;
  std::int64_t given_ = 0;
  bool over_ = false;
};

}  // namespace forebay::engine
