// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <forebay/batch.h>
#include <forebay/batcher.h>

#include "engine/memory/sync.h"
#include "engine/program/saved_states.h"
#include "engine/tickets/finish/batch_content.h"

namespace forebay {

/// The states that the program saves for the sequences of a run with lanes (Batching::lanes). Rows are lanes, so the
/// states after batch k are the states before batch k + 1, row by row.
///
///     batch k: gather ◄─ settled_: after batch k - 1        batch k + 1, read ahead: gather fails
///              save(h) ─► open_ ─► save(c): all are there ─► settled_: after batch k
///
/// A run and its batches share it; any thread may call. The arrays are the program's: they do not count against the
/// memory budget of the run, but Loader::start refuses states that take more than a quarter of it.
class States {
 public:
  /// `start`: where the run begins, with the states that a saved state had (Position::saved).
  States(std::shared_ptr<const engine::Program> program, const Shard& shard, const engine::Position& start);

  /// Fails with Code::config when the states of the rows of a batch take more than a quarter of `memory`.
  [[nodiscard]] static Result<void> check(const engine::Program& program, std::int64_t memory);

  /// Batch::state and Batch::save_state. `content` is that of `batch`.
  [[nodiscard]] Result<Tensor> gather(const Batch& batch, const Batch::Content& content, std::string_view name) const
      EXCLUDES(mutex_);
  [[nodiscard]] Result<void> save(const Batch::Content& content, std::string_view name, const Tensor& values)
      EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::string> names() const;

  /// Where a restart begins for a consumer that stands at `at`: there, with the states, or before the first batch whose
  /// states are not all saved. Fails with Code::state when the states at `at` were replaced by later ones.
  [[nodiscard]] Result<engine::Position> point(const engine::Position& at) const EXCLUDES(mutex_);
  /// The run has begun anew elsewhere: from now on `save` fails.
  void retire() EXCLUDES(mutex_);

 private:
  struct State {
    StateSpec spec;
    std::size_t row_bytes = 0;
    std::vector<std::byte> initial;  // one element
  };
  /// The states after a batch.
  struct After {
    std::int64_t next = 0;  // number of the batch after it
    engine::Position position;
    std::vector<bool> live;                                   // by row: its sequence goes on
    std::vector<std::optional<std::vector<std::byte>>> rows;  // by state: of all rows; empty: not saved
  };
  [[nodiscard]] Result<std::size_t> find(std::string_view name) const;
  [[nodiscard]] const After* before(std::int64_t number, std::size_t state) const REQUIRES(mutex_);
  [[nodiscard]] After after(const Batch::Content& content) const;
  [[nodiscard]] std::shared_ptr<const engine::SavedStates> live_states(const After& at) const;
  void take_over(const engine::SavedStates& saved, After& at) const;

  const std::shared_ptr<const engine::Program> program_;
  const std::int64_t first_row_, end_row_;  // of the whole batch
  std::vector<State> states_;
  mutable engine::Mutex mutex_;
  After settled_ GUARDED_BY(mutex_);              // after the last batch of which every state was saved
  std::optional<After> open_ GUARDED_BY(mutex_);  // after a later batch, of which some states were saved
  bool retired_ GUARDED_BY(mutex_) = false;
};

}  // namespace forebay
