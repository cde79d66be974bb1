// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <forebay/combine.h>
#include <forebay/order.h>

#include "engine/order/branches/branch_stream.h"
#include "engine/order/branches/open_branches.h"
#include "engine/order/branches/turns.h"

namespace forebay::engine {

/// The stream of a combination: the elements of several branches as one stream, in passes.
///
///     BranchStream 0 ─┐   Turns::next says of which branch       handles that name the branch, too
///     BranchStream 1 ─┼─► or, side by side: one of each branch   ─► orders after the combination ─► Batcher
///     BranchStream 2 ─┘
///
/// A pass begins where the one before it left each branch; a branch that has ended begins its next epoch. Side by side,
/// every pass begins a new epoch of every branch. `Passes` owns it, inside the chain of orders; the holder of the baton
/// calls it.
class Combination final : public Handles {
 public:
  /// `program` and `parts` must outlive this object. `start`: where the branches stand; empty: at their beginning.
  Combination(const Program& program, OpenBranches& parts, const std::vector<BranchCursor>& start);

  void begin(std::int64_t pass) override;
  Result<std::size_t> pull(std::span<Handle> out) override;
  /// Where indexes tell how many elements the branches have, rows are passed over without the elements.
  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override;

  /// Where the branches stand at the beginning of the next pass.
  [[nodiscard]] std::vector<BranchCursor> cursors() const;
  [[nodiscard]] double done() const;  ///< The done part of the pass: 0 … 1.
  /// The pass and its turns so far, with the one of a batch that was given in part; the next pass when what stands
  /// behind knows that this one is over. Not of branches side by side.
  [[nodiscard]] MixedPlace place() const {
    if (told_end_) return {.pass = turns_->pass() + 1};
    return {.pass = turns_->pass(), .row = turns_->given() + (inside_ ? 1 : 0)};
  }

 private:
  std::size_t at_hand(std::span<Handle> out);
  Result<bool> one(Handle& out);           // false: the pass is over
  Result<bool> side_by_side(Handle& out);  // the same
  std::int64_t pass_over(std::int64_t n);
  Result<void> check_files();
  Result<void> settle();
  [[nodiscard]] Error unequal() const;

  const Program& program_;
  OpenBranches& parts_;
  std::vector<std::unique_ptr<BranchStream>> streams_;
  std::optional<Turns> turns_;  // empty: side by side
  bool inside_ = false;         // of a batch of a branch: it has more rows
  bool told_end_ = false;       // `pull` has given the end of the pass
  std::size_t settled_ = 0;     // branches of which `settle` knows that they have elements
  bool begun_ = false;
  // Side by side: the elements of the next row, as far as they are there.
  std::vector<Handle> row_;
  std::vector<bool> has_;
  std::size_t asked_ = 0;                    // branches that were asked for their element
  std::int64_t given_ = 0;                   // rows of this pass
  std::vector<std::int64_t> left_, counts_;  // of the branches, for `pass_over`
  bool files_checked_ = false;
  bool over_ = false;
};

}  // namespace forebay::engine
