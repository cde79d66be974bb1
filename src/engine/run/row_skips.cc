// SPDX-License-Identifier: Apache-2.0
#include "engine/run/row_skips.h"

namespace forebay::engine {

RowSkips::RowSkips(const OnCorrupt& allowed, const Position& start)
    : on_{allowed.policy == Corrupt::skip_row}, tally_{allowed}, epoch_{start.from} {
  tally_.go_on(start.skips);
}

Result<void> RowSkips::judge(Batch::Content& content) {
  if (!on_) return {};
  BatchLayout& layout = content.layout;
  if (layout.epoch > epoch_) {
    FOREBAY_DO(tally_.end_pass());
    tally_.begin_pass();
    epoch_ = layout.epoch;
  }
  std::int64_t next = 0;
  for (const SkippedRow& row : content.skipped) {
    if (row.row > next) tally_.good(row.row - next);
    FOREBAY_DO(tally_.add({.what = Skip::What::record, .bytes = row.bytes, .error = row.error}));
    next = row.row + 1;
  }
  const std::int64_t rows = std::ssize(layout.handles) + std::ssize(content.skipped);
  if (rows > next) tally_.good(rows - next);
  if (layout.after.from == epoch_) layout.after.skips = tally_.pass();
  return {};
}

}  // namespace forebay::engine
