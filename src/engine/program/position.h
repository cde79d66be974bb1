// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <forebay/error.h>
#include <forebay/run_options.h>

namespace forebay::engine {

struct Program;
struct SavedStates;

inline constexpr std::size_t max_carried = 4096;  ///< Integers of Batcher::carried at most.

/// What `on_corrupt` counted of the present pass, with skip_row.
struct PassSkips {
  std::int64_t skips = 0;
  std::int64_t good = 0;         ///< Rows.
  std::int64_t consecutive = 0;  ///< Skips since the last good row.
  bool operator==(const PassSkips&) const = default;
};

/// Where a branch of a combination stands at the beginning of a pass.
struct BranchCursor {
  std::int64_t epoch = 0;
  std::int64_t taken = 0;  ///< Elements of this epoch that earlier passes had.
  bool operator==(const BranchCursor&) const = default;

  /// Where it stands `n` elements later, in epochs of `rows` elements. It stays behind the last element of an epoch,
  /// of which only the next turn finds out that it was the last one.
  [[nodiscard]] BranchCursor after(std::int64_t n, std::int64_t rows) const {
    const std::int64_t all = taken + n;
    if (all <= rows) return {.epoch = epoch, .taken = all};
    return {.epoch = epoch + (all - 1) / rows, .taken = (all - 1) % rows + 1};
  }
};

/// The first row of a combination that no stage behind it had when the batches before a position were cut.
struct MixedPlace {
  std::int64_t pass = 0;  ///< Of the combination.
  std::int64_t row = 0;   ///< Of the pass; of branches that make batches, the batch.
  auto operator<=>(const MixedPlace&) const = default;
};

/// Where a run stands: all that a restart needs (docs/adr/0005, 0018). An order begins a pass from (seed, epoch) alone,
/// so a restart goes through the pass again, without decoding, up to the first batch to deliver.
///
///     pass `epoch` begins in batch `batch`       batches before `next` are dropped       batches of epochs before
///     after `pulled` records of earlier passes ─► without being made ─────────────────► `from` too ─► delivered
struct Position {
  std::int64_t epoch = 0;   ///< The pass to begin with.
  std::int64_t batch = 0;   ///< The batch that was being cut when this pass began.
  std::int64_t pulled = 0;  ///< Records of earlier passes that this batch already had.
  std::int64_t next = 0;    ///< The first batch to deliver.
  std::int64_t from = 0;    ///< The epoch of the last batch, or the one that was asked for since.
  std::int64_t begun = 0;   ///< 1: a batch of epoch `from` was delivered, or it has none. 0: it is still to come.
  /// Records of the last batch when the end of the run cut it short; else 0. A longer run would have filled that batch.
  std::int64_t cut_short = 0;
  /// Progress in millionths of the pass, for display only: of two runs of one plan it may differ by what a batcher has
  /// pulled ahead.
  std::int64_t done = 0;
  /// What the batcher held when the pass began (Batcher::carried), in place of `pulled`.
  std::vector<std::int64_t> carried = {};
  /// Number of epochs of the run, when it had ended and the batcher still held elements; else 0.
  std::int64_t ended = 0;
  /// Where an order on batches stands: batch `first` begins its block, of which `given` batches were delivered.
  struct InBlock {
    std::int64_t first = 0;
    std::int64_t given = 0;
    bool operator==(const InBlock&) const = default;
  };
  std::vector<InBlock> blocks = {};  ///< By order on batches. `next` is then the first batch to cut.
  std::int64_t delivered = 0;        ///< Batches delivered, in plans with orders on batches.
  /// Of a combination: where each branch stands when pass `epoch` begins. Empty: at the beginning of the run.
  std::vector<BranchCursor> branches = {};
  /// Of a combination that takes turns: from where on a restart may change it, if it is to.
  MixedPlace mixed = {};
  /// The number of the batch that comes next.
  [[nodiscard]] std::int64_t number() const { return blocks.empty() ? next : delivered; }
  PassSkips skips = {};  ///< Of epoch `from`.
  /// The states of the sequences that go on, in plans with states; null: there is none. Compared by address.
  std::shared_ptr<const SavedStates> saved = {};
  bool operator==(const Position&) const = default;
};

using forebay::Shard;

/// Whether the batches of a shard are no parts of those of the whole run, but are made of elements of its own.
[[nodiscard]] inline bool own_stream(const Shard& shard) {
  return shard.count > 1 && (shard.by == ShardBy::file || shard.by == ShardBy::element);
}

/// The section of a combination, which has a text.
inline constexpr std::string_view combine_stage = "combine";

/// A section of a state: integers and texts of one stage of the run, by name. The stage alone knows what they mean.
struct Section {
  std::string stage;
  std::vector<std::pair<std::string, std::int64_t>> values;
  std::vector<std::pair<std::string, std::string>> texts = {};
  bool operator==(const Section&) const = default;
};

/// The sections of a position: "order", "batcher" when the batcher held something, "batches" in plans with orders on
/// batches, of a combination "mixed" and "combine", "skips" where there is something to count, and "saver"
/// with saved states. A stage that comes later adds its own.
[[nodiscard]] std::vector<Section> sections_of(const Position& position);
/// The inverse. Fails with Code::state for an unknown section (failed_precondition), and for a missing section or a
/// value that is missing or unknown (data_loss).
[[nodiscard]] Result<Position> position_of(const std::vector<Section>& sections);

/// Fails with Code::state, data_loss, for a position that no run of any plan has.
[[nodiscard]] Result<void> check_position(const Position& position);
/// Fails with Code::state for a position that no run of this program has (data_loss), or that lies after its last epoch
/// (failed_precondition). With such a position, the run would look for records that do not exist.
[[nodiscard]] Result<void> check_position(const Position& position, const Program& program, const Shard& shard);

/// The part of the run that lies before a position: 0 … 1. Of an endless run: of its pass.
[[nodiscard]] double share_of_run(const Position& position, const Program& program);

}  // namespace forebay::engine
