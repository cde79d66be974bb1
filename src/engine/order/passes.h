// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <forebay/batcher.h>
#include <forebay/order.h>

#include "engine/order/files/open_files.h"
#include "engine/order/windows/window_reader.h"
#include "engine/program/position.h"
#include "engine/program/program.h"

namespace forebay::engine {

class Combination;

/// The orders of a source, from its files to the last order of records.
[[nodiscard]] std::unique_ptr<Handles> orders_of(const Program& program, OpenFiles& files);

/// All passes of a run as one stream of handles, after all orders. With hard epochs, `pull` returns 0 at the end of
/// each pass until `next_pass`; otherwise the next pass follows at once, also within a batch.
class Passes final : public Handles {
 public:
  /// `windows`: null without a window stage.
  Passes(const Program& program, OpenParts& parts, WindowReader* windows, const Position& start);

  void begin(std::int64_t epoch) override;
  Result<std::size_t> pull(std::span<Handle> out) override;
  /// Of the present pass only, also without hard epochs.
  Result<std::int64_t> skip(std::int64_t n, Reader& reader) override;

  [[nodiscard]] bool over() const {
    return program_.epochs ? epoch_ >= *program_.epochs : empty_passes_ > max_empty_passes;
  }
  /// Begins the next pass when one has ended; called between batches.
  void next_pass() {
    pulled_ = 0;  // no batch has rows of two hard passes
    if (pass_ended_) begin(epoch_ + 1);
    pass_ended_ = false;
  }
  void begin_batch(std::int64_t number) {
    batch_ = number;
    pulled_ = 0;
    batch_epoch_.reset();
    batch_passes_.clear();
    repeat_order_only();
  }
  /// Batches of earlier epochs are dropped from now on.
  void skip_to(std::int64_t epoch) {
    from_ = epoch;
    repeat_order_only();
  }
  /// Batches before number `batch` are dropped, too.
  void want_from(std::int64_t batch) {
    first_wanted_ = std::max(first_wanted_, batch);
    repeat_order_only();
  }
  /// Whether the last two passes had no records.
  [[nodiscard]] bool was_empty() const { return empty_passes_ > 1; }
  /// The position at which the present pass began, or an earlier pass that `forget` has not removed.
  [[nodiscard]] const Position& began() const { return began_.front(); }
  /// Removes the positions of passes before `epoch`, but not that of the present pass.
  void forget(std::int64_t epoch) {
    while (began_.size() > 1 && began_.front().epoch < epoch) began_.pop_front();
  }
  /// From now on, positions say what `batcher` holds, and those of earlier passes stay as long as it needs them.
  void carry(const Batcher& batcher) { carrying_ = &batcher; }
  /// The pass of the oldest element that the batcher holds; if it holds none, the present pass.
  [[nodiscard]] std::int64_t oldest() const;
  /// The pass of the handles that `pull` gave last.
  [[nodiscard]] const std::int64_t& epoch() const { return epoch_; }
  /// The pass of the first row of the present batch.
  [[nodiscard]] std::int64_t batch_epoch() const { return batch_epoch_.value_or(epoch_); }

  /// Where rows of another pass begin in the present batch.
  struct PassBegin {
    std::int64_t row, epoch;
  };
  [[nodiscard]] const std::vector<PassBegin>& batch_passes() const { return batch_passes_; }

  /// Sequences of a pass, when that is known before: of rows in memory, and of records that are read by index. Empty
  /// also where filters, windows over parts or a combination decide.
  [[nodiscard]] std::optional<std::int64_t> sequences() const;
  /// Handles pulled into the present batch.
  [[nodiscard]] std::int64_t pulled() const { return pulled_; }
  /// Of a combination that takes turns (Position::mixed).
  [[nodiscard]] MixedPlace mixed() const;
  /// The done part of the present pass in millionths.
  [[nodiscard]] std::int64_t done() const { return over() ? 0 : std::llround(1e6 * std::min(1.0, pass_frac())); }

 private:
  /// No record is read while batches are dropped that lie before the first wanted batch or in an earlier pass than the
  /// first wanted one. All rows of a wanted batch are pulled after that.
  void repeat_order_only() { open_files_.catch_up(batch_ < first_wanted_ || epoch_ < from_); }

  [[nodiscard]] double pass_frac() const;
  void carry_over();

  // After more consecutive empty passes, an endless run ends: it would never deliver a batch.
  static constexpr int max_empty_passes = 1000;

  std::size_t fill_with_placeholders(std::span<Handle> out);
  std::size_t delivered(std::size_t count);

  const Program& program_;
  OpenParts& open_files_;
  WindowReader* const windows_;
  std::unique_ptr<Handles> chain_;
  Combination* combination_ = nullptr;  // in `chain_`; null: the plan has one source
  const bool takes_turns_;              // the plan, or one whose rows are its source, has branches that do
  std::int64_t epoch_ = 0;
  std::optional<std::int64_t> batch_epoch_;
  std::vector<PassBegin> batch_passes_;
  std::int64_t batch_;         // number of the batch that is being cut
  std::int64_t first_wanted_;  // number of the first batch to deliver
  std::int64_t from_;          // epoch of the first batch to deliver
  std::int64_t pulled_ = 0;    // handles pulled into that batch so far
  std::int64_t placeholders_;
  std::vector<Ordering> unfiltered_;  // the orders of records before the first one with attributes
  std::int64_t given_ = 0;            // handles of this pass that were pulled
  std::deque<Position> began_;        // one for each pass, the present one last
  const Batcher* carrying_ = nullptr;
  int empty_passes_ = 0;
  bool pass_ended_ = false;  // with hard epochs: `pull` returns 0 until next_pass
};

}  // namespace forebay::engine
