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
  /// More turns than any pass has, and more elements than any branch gives.
  static constexpr std::int64_t endless = std::int64_t{1} << 60;

  /// `program` has branches that are not side by side, and outlives this object.
  explicit Turns(const Program& program);

  void begin(std::int64_t pass);
  /// The branch whose turn it is, the same one until `took` or `ended`; `none` at the end of the pass.
  [[nodiscard]] std::size_t next() {
    if (chosen_ != none || over_) return chosen_;
    if (given_ == stop_) reach();
    if (open_left_ == 0) over_ = true;
    return over_ ? none : chosen_ = combiner_->next(open_);
  }
  void took() {  ///< That branch has given an element.
    chosen_ = none;
    ++given_;
  }
  /// Takes as many of the next `n` turns as can be told without `next`, and returns how many. Each branch has `left`
  /// elements; adds to `counts`, which are 0, how many of them it gave.
  [[nodiscard]] std::int64_t pass_over(std::int64_t n, std::vector<std::int64_t>& left,
                                       std::vector<std::int64_t>& counts);
  /// Whether the branch gives elements of one epoch after the other, and the pass goes on.
  [[nodiscard]] bool goes_round(std::size_t branch) const;

  /// That branch has no element left in its epoch, of which it gave none where `empty`. Returns whether it begins its
  /// next one at once; it stays the one whose turn it is then.
  bool ended(bool empty);

  [[nodiscard]] const PassEnd& end() const { return end_; }    ///< Of the pass.
  [[nodiscard]] std::int64_t given() const { return given_; }  ///< Elements of the pass.
  /// Whether the branch came to the end of an epoch in this pass, or is left out.
  [[nodiscard]] bool completed(std::size_t branch) const {
    return branch < completed_.size() && (completed_[branch] || left_out_[branch]);  // one may still be to join
  }
  [[nodiscard]] bool left_out(std::size_t branch) const { return branch < left_out_.size() && left_out_[branch]; }
  [[nodiscard]] std::int64_t pass() const { return pass_; }  ///< The one that `begin` was told last.

 private:
  void enter(std::int64_t pass, std::int64_t row);
  void reach();
  [[nodiscard]] bool all_completed() const;

  const Program& program_;
  std::vector<std::unique_ptr<Combiner>> combiners_;  // of Program::earlier, and the one of today
  std::vector<PassEnd> ends_;                         // of the same
  std::size_t stage_ = 0;                             // the one of them that has its turn
  Combiner* combiner_ = nullptr;                      // the same
  std::int64_t pass_ = 0;
  std::int64_t change_ = -1;    // elements of the pass after which the next of them follows; -1: not in this pass
  std::int64_t stop_ = -1;      // the smaller one of `change_` and `most_`
  PassEnd end_;                 // of the pass
  std::int64_t most_ = -1;      // elements of it; -1: as many as there are
  std::vector<bool> open_;      // may have elements left in this pass
  std::vector<bool> left_out_;  // Combiner::leaves_out
  std::size_t open_left_ = 0;   // of those that are not left out
  std::vector<bool> completed_;
  std::size_t chosen_ = none;
  std::int64_t given_ = 0;
  bool over_ = false;
};

}  // namespace forebay::engine
