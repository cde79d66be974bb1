// SPDX-License-Identifier: Apache-2.0
#include "engine/order/order_plane.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace forebay::engine {

namespace {

constexpr int max_passes_without_batch = 16;  // more than one: files may change from pass to pass

/// Whether the rows come one after the other from the program, which may wait for a batch before it gives more.
bool of_feed(const Program& program) {
  if (std::ranges::any_of(program.branches, of_feed)) return true;
  return program.source.rows && !program.source.rows->resident();
}

}  // namespace

OrderPlane::OrderPlane(const Program& program, OpenParts& streams, Position start, Shard shard)
    : program_{program},
      open_files_{streams},
      start_{start},
      shard_{shard},
      batcher_{program.batching.make(streams)},
      number_{start.batch},
      ordinal_{start.batch},
      from_{start.from},
      pass_{start.epoch},
      done_{start.done} {}

OrderPlane::~OrderPlane() = default;

void OrderPlane::begin() {
  open_files_.begin_batch(ordinal_);
  passes_ = std::make_unique<Passes>(program_, open_files_, start_);
  if (from_ > start_.from) passes_->skip_to(from_);
}

void OrderPlane::skip_to(std::int64_t epoch) {
  if (epoch <= from_) return;
  from_ = epoch;
  if (passes_) passes_->skip_to(epoch);
}

Result<bool> OrderPlane::next(BatchLayout& layout) {
  if (!passes_) begin();
  if (stage_ != Stage::fetch) {
    FOREBAY_DO(catch_up(layout));
    FOREBAY_TRY(const bool more, decide(layout));
    if (!more) return false;
    if (shard_.count > 1) keep_shard(layout);
  }
  stage_ = Stage::fetch;  // when `hand_over` is interrupted, the next call continues here
  FOREBAY_DO(open_files_.hand_over(layout, ordinal_));
  stage_ = Stage::cut;
  ++ordinal_;
  return true;
}

/// Cuts batches until one is wanted; drops the others. Returns false at the end of the run.
Result<bool> OrderPlane::decide(BatchLayout& layout) {
  while (true) {
    if (stage_ == Stage::cut) {
      FOREBAY_TRY(const bool more, cut_or_take(layout));
      if (!more) return false;
      stage_ = Stage::look_ahead;
    }
    if (program_.hard_epochs && !of_feed(program_)) FOREBAY_DO(look_ahead(layout));
    stage_ = Stage::cut;
    if (layout.epoch >= from_) return true;
    leave_out(layout);
  }
}

Result<bool> OrderPlane::cut_or_take(BatchLayout& layout) {
  if (!has_ahead_ && ahead_.handles.empty()) return cut(layout);
  if (!has_ahead_) {  // `look_ahead` failed: its batch fails again, or goes on
    FOREBAY_TRY(has_ahead_, cut(ahead_));
    if (!has_ahead_) return false;
  }
  std::swap(layout, ahead_);
  ahead_.clear();
  has_ahead_ = false;
  return true;
}

/// Fails only when it is interrupted. Another error is that of the next batch, which is cut again.
Result<void> OrderPlane::look_ahead(BatchLayout& layout) {
  const auto more = cut(ahead_);
  if (!more.ok() && open_files_.interrupted(more.error())) return more.error();
  has_ahead_ = more.ok() && *more;
  layout.ends_epoch = more.ok() && (!*more || ahead_.epoch > layout.epoch);
  if (!*layout.ends_epoch) return {};
  const std::int64_t next = layout.number + 1;
  const std::int64_t epoch = layout.epoch + 1;
  Position after{.epoch = epoch, .batch = next, .next = next, .from = epoch};
  if (!program_.branches.empty()) {  // where the branches stand is known of the pass that began last
    after.epoch = passes_->began().epoch;
    after.branches = passes_->began().branches;
  }
  layout.after = std::move(after);
  layout.complete_frac = program_.epochs ? share_of_run(layout.after, program_) : layout.complete_frac;
  return {};
}

/// Cuts the next batch of the stream. Returns false at the end of the run. After an error the call may be repeated with
/// the same layout.
Result<bool> OrderPlane::cut(BatchLayout& layout) {
  FOREBAY_TRY(const bool more, cut_rows(layout));
  if (!more) return false;
  layout.number = number_++;
  layout.after = after(layout);
  layout.complete_frac = share_of_run(layout.after, program_);
  layout.ends_epoch.reset();
  return true;
}

Result<bool> OrderPlane::cut_rows(BatchLayout& layout) {
  open_files_.begin_batch(ordinal_);
  while (true) {
    if (layout.handles.empty()) passes_->begin_batch(number_);
    FOREBAY_TRY(layout.rows, batcher_->cut(*passes_, layout.handles));
    layout.epoch = passes_->batch_epoch();
    if (layout.rows > 0) {
      passes_without_batch_ = 0;
      return true;
    }
    if (passes_->over()) return false;
    if (!program_.epochs && !passes_->was_empty() && ++passes_without_batch_ == max_passes_without_batch) {
      return Error{Code::data, Detail::failed_precondition,
                   fmt::format("{} epochs one after the other had fewer records than a batch, and `remainder: drop` "
                               "leaves those out: this run would never deliver anything; make batches smaller than an "
                               "epoch, or set `remainder` or `epoch_boundary` to something else",
                               max_passes_without_batch)};
    }
    passes_->next_pass();
    if (passes_->over()) return false;
  }
}

/// The position after a batch that was just cut.
Position OrderPlane::after(const BatchLayout& layout) {
  Position out = passes_->began();
  if (out.epoch != pass_) done_ = 0;
  pass_ = out.epoch;
  done_ = std::max(done_, passes_->done());
  out.next = number_;
  out.from = layout.epoch;
  out.begun = 1;
  out.cut_short = 0;
  out.done = done_;
  if (!passes_->over()) return out;
  // The end of the run was found while the batch was cut. A longer run begins its next batch with the next pass.
  out.cut_short = passes_->pulled();
  out.batch = number_;
  out.pulled = 0;
  return out;
}

Result<void> OrderPlane::catch_up(BatchLayout& layout) {
  while (number_ < start_.next) {
    FOREBAY_TRY(const bool more, cut(layout));
    if (!more) {
      return Error{Code::state, Detail::failed_precondition,
                   fmt::format("the state stands before batch {}, but the run ends after {} batches: the files hold "
                               "fewer records than when it was saved",
                               start_.next, number_)};
    }
    if (passes_->began().epoch > start_.epoch) {  // start_.next is in the pass start_.epoch
      return Error{Code::state, Detail::failed_precondition,
                   fmt::format("the state stands before batch {} in epoch {}, but that epoch ends before batch {}: the "
                               "files hold fewer records than when it was saved",
                               start_.next, start_.epoch, number_)};
    }
    leave_out(layout);
    open_files_.collect(++ordinal_);
  }
  return {};
}

/// Drops a batch before it is made.
void OrderPlane::leave_out(BatchLayout& layout) {
  open_files_.drop(layout.handles);
  layout.handles.clear();
  open_files_.collect();
  open_files_.limit_memory();
}

/// Drops the rows of the other shards. Rows that the count does not divide are dealt as evenly as possible.
void OrderPlane::keep_shard(BatchLayout& layout) {
  const auto records = static_cast<std::int64_t>(layout.handles.size());
  const std::int64_t first = layout.rows * shard_.index / shard_.count;
  const std::int64_t end = layout.rows * (shard_.index + 1) / shard_.count;
  const auto begin = layout.handles.begin();
  const std::span<const Handle> all{layout.handles};
  const auto from = static_cast<std::size_t>(std::min(first, records));
  const auto to = static_cast<std::size_t>(std::min(end, records));
  open_files_.drop(all.first(from));
  open_files_.drop(all.subspan(to));
  layout.handles.erase(begin + static_cast<std::ptrdiff_t>(to), layout.handles.end());
  layout.handles.erase(begin, begin + static_cast<std::ptrdiff_t>(from));
  layout.rows = end - first;
}

}  // namespace forebay::engine
