// SPDX-License-Identifier: Apache-2.0
#include "engine/order/branches/branch_stream.h"

#include <algorithm>

#include <fmt/core.h>

#include "engine/order/branches/open_branches.h"
#include "engine/order/passes.h"

namespace forebay::engine {

BranchStream::BranchStream(const Program& branch, OpenFiles& files, const BranchCursor& start)
    : branch_{branch},
      files_{files},
      chain_{orders_of(branch, files)},
      epoch_rows_{branch},
      epoch_{start.epoch},
      taken_{start.taken},
      to_drop_{start.taken} {}

Result<bool> BranchStream::fill() {
  if (full_) return OpenBranches::too_many_blocks();
  if (!begun_) {
    chain_->begin(epoch_);  // closes files that the last epoch left open; they count for the last epoch
    files_.begin_pass(epoch_);
    begun_ = true;
  }
  FOREBAY_DO(drop_taken());
  next_ = filled_ = 0;
  FOREBAY_TRY(filled_, chain_->pull(ahead_));
  for (std::size_t i = 0; i < filled_ && branch_.made && branch_.made->marks_batches; ++i)
    ends_[i] = files_.ends_block(ahead_[i]);
  if (filled_ > 0) return check_slots();
  FOREBAY_DO(files_.end_pass());
  ended_ = true;
  return false;
}

/// A handle of a combination has fewer bits for the slot. Once they are too few, every call fails.
Result<bool> BranchStream::check_slots() {
  const auto fits = [](const Handle& handle) { return handle.block <= OpenBranches::max_slot; };
  if (std::ranges::all_of(std::span{ahead_}.first(filled_), fits)) return true;
  filled_ = 0;
  full_ = true;
  return OpenBranches::too_many_blocks();
}

/// Goes past the elements that earlier passes of the combination had, and those that were passed over. As in the rest
/// of a restart, files with a stored index are not scanned meanwhile.
Result<void> BranchStream::drop_taken() {
  const bool catching_up = files_.catching_up();
  while (to_drop_ > 0) {
    files_.catch_up(true);
    const auto count = chain_->skip(to_drop_, files_);
    files_.catch_up(catching_up);
    FOREBAY_DO(count);
    if (*count == 0) {
      return Error{Code::state, Detail::failed_precondition,
                   fmt::format("the state stands after {} elements in epoch {} of a branch, and the epoch has {}: the "
                               "files hold fewer records than when it was saved",
                               taken_, epoch_, taken_ - to_drop_)};
    }
    to_drop_ -= *count;
  }
  return {};
}

std::optional<std::int64_t> BranchStream::left(bool goes_round) {
  const auto rows = epoch_rows_.of(epoch_);
  if (!rows || *rows < taken_) return std::nullopt;
  return goes_round && *rows > 0 && epoch_rows_.alike() ? Turns::endless : *rows - taken_;
}

void BranchStream::pass_over(std::int64_t n) {
  if (n == 0) return;
  const std::int64_t rows = epoch_rows_.of(epoch_).value_or(taken_ + n);
  const BranchCursor at = BranchCursor{.epoch = epoch_, .taken = taken_}.after(n, rows);
  if (at.epoch != epoch_) {
    next_epoch();
    epoch_ = at.epoch;
    taken_ = to_drop_ = at.taken;
    return;
  }
  const auto pulled = static_cast<std::int64_t>(filled_ - next_);
  const auto count = static_cast<std::size_t>(std::min(n, pulled));
  files_.drop(std::span{ahead_}.subspan(next_, count));
  next_ += count;
  taken_ += n;
  to_drop_ += n - static_cast<std::int64_t>(count);
}

void BranchStream::next_epoch() {
  files_.drop(std::span{ahead_}.subspan(next_, filled_ - next_));
  next_ = filled_ = 0;
  ++epoch_;
  taken_ = to_drop_ = 0;
  begun_ = ended_ = false;
}

double BranchStream::done() const {
  if (ended_) return 1;
  if (!begun_) return 0;
  const auto records = files_.indexed();
  const double all = static_cast<double>(
      std::max<std::int64_t>(1, records ? count_after(branch_.record_orders, *records).value_or(*records)
                                        : static_cast<std::int64_t>(branch_.source.parts())));
  return std::min(1.0, (records ? static_cast<double>(taken_) : files_.files_done()) / all);
}

}  // namespace forebay::engine
