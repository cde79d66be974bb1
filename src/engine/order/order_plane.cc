// SPDX-License-Identifier: Apache-2.0
#include "engine/order/order_plane.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/order/files/own_rows.h"

namespace forebay::engine {

namespace {

constexpr std::uint64_t batch_purposes = 1'000'000;  // above those of the orders of files and records
constexpr std::int64_t whole_pass = 1'000'000;       // Position::done
constexpr int max_passes_without_batch = 16;         // more than one: files may change from pass to pass

/// Whether the program gives rows as they come: it may wait for a batch before it gives more.
bool of_feed(const Program& program) {
  if (std::ranges::any_of(program.branches, of_feed)) return true;
  return program.source.rows && !program.source.rows->replays();
}

}  // namespace

OrderPlane::OrderPlane(const Program& program, OpenParts& streams, Position start, Shard shard)
    : program_{program},
      open_files_{streams},
      start_{start},
      shard_{shard},
      windows_{program.windows ? std::make_unique<WindowReader>(program, streams.branch(0)) : nullptr},
      occurrences_{program, streams, windows_.get()},
      batcher_{program.batching.make(batcher_context())},
      number_{start.batch},
      ordinal_{start.batch},
      from_{start.from},
      pass_{start.epoch},
      done_{start.done},
      delivered_{start.delivered},
      cut_after_{start} {
  if (processes_of(program, shard) == 1 && !brings_whole_files(program)) return;
  batches_ahead_.emplace(
      streams, streams.branch(0).pool(), [this](BatchLayout& layout) { return decide_own(layout); },
      [this](std::span<const Handle> rows) { return expect(rows); });
}

OrderPlane::~OrderPlane() = default;

Result<void> OrderPlane::begin() {
  FOREBAY_DO(open_files_.prepare());
  if (!start_.carried.empty()) FOREBAY_DO(batcher_->resume(start_.carried));
  open_files_.begin_batch(ordinal_);
  passes_ = std::make_unique<Passes>(program_, open_files_, windows_.get(), start_);
  if (program_.batching.carries) passes_->carry(*batcher_);
  rows_ = BatchRows{ahead_.handles, &passes_->epoch()};
  if (from_ > start_.from) passes_->skip_to(from_);
  if (program_.batch_orders.empty()) passes_->want_from(sought_);  // they are cut in the order of their numbers
  begin_blocks();
  // The last batch is cut as usual, and so is every batch that is not full.
  const std::int64_t batches = start_.next - 1 - start_.batch;
  if (batches <= 0 || !program_.batching.fixed || !program_.batching.max_rows) return {};
  if (program_.identity == Program::Identity::occurrences || program_.batching.numbers)
    return {};  // they count every row of the pass
  if (__builtin_mul_overflow(batches, *program_.batching.max_rows, &passing_)) passing_ = 0;
  return {};
}

/// Batches of a fixed size need not be cut to be dropped. All of them are of one pass.
Result<void> OrderPlane::pass_over() {
  const std::int64_t rows = program_.batching.max_rows.value_or(1);
  while (passing_ > 0) {
    FOREBAY_TRY(const std::int64_t count, passes_->skip(passing_, reader()));
    if (count == 0) break;
    passing_ -= count;
    open_files_.collect();
    open_files_.limit_memory();
  }
  const std::int64_t left = passing_ / rows + (passing_ % rows != 0 ? 1 : 0);  // batches that the pass does not have
  const std::int64_t past = start_.next - 1 - start_.batch - left;
  passing_ = 0;
  number_ += past;
  ordinal_ += past;
  open_files_.collect(ordinal_);
  return {};
}

void OrderPlane::begin_blocks() {
  cut_after_.blocks.clear();
  for (std::size_t i = 0; i < program_.batch_orders.size(); ++i) {
    BatchBlocks::Upstream upstream{.pull = [this](BatchLayout& layout) { return cut(layout); },
                                   .position = [this] { return cut_after_; },
                                   .epoch_start = [this](std::int64_t epoch) { return epoch_start(epoch); },
                                   .over = [this] { return passes_->over(); },
                                   .drop = [this](BatchLayout& layout) { leave_out(layout); }};
    if (i > 0) {
      upstream.pull = [this, i](BatchLayout& layout) { return blocks_[i - 1].pull(layout); };
      upstream.position = [this, i] { return blocks_[i - 1].position(); };
    }
    blocks_.emplace_back(*program_.batch_orders[i].batches,
                         BatchBlocks::Options{.seed = program_.seed,
                                              .purpose = batch_purposes + i,
                                              .number = i,
                                              .epochs = program_.epochs.value_or(0),
                                              .hard_epochs = program_.hard_epochs},
                         std::move(upstream), start_);
  }
}

void OrderPlane::skip_to(std::int64_t epoch) {
  if (epoch <= from_) return;
  from_ = epoch;
  if (passes_) passes_->skip_to(epoch);
}

Result<bool> OrderPlane::next(BatchLayout& layout) {
  if (!passes_) FOREBAY_DO(begin());
  if (!fetches_) {
    FOREBAY_TRY(const bool more, take(layout));
    if (!more) return false;
  }
  fetches_ = true;
  FOREBAY_DO(hand_over(layout));
  fetches_ = false;
  ++ordinal_;
  return true;
}

Result<bool> OrderPlane::decide_own(BatchLayout& layout) {
  FOREBAY_DO(catch_up(layout));
  FOREBAY_TRY(const bool more, decide(layout));
  if (!more || shard_.count == 1) return more;
  open_files_.begin_batch(ordinal_);  // an order on batches may have cut this one for an earlier one
  keep_shard(layout);
  return true;
}

Result<bool> OrderPlane::take(BatchLayout& layout) {
  if (!batches_ahead_) return decide_own(layout);
  while (true) {
    FOREBAY_TRY(const bool more, batches_ahead_->next(layout));
    if (!more || wanted(layout)) return more;
    leave_out(layout);  // `skip_to` was called after it was decided
  }
}

bool OrderPlane::take_before_fault(BatchLayout& layout) {
  if (windows_ || !program_.branches.empty() || open_ == nullptr || fetches_) return false;
  if (open_ == &ahead_) std::swap(layout, ahead_);
  const bool decided_ahead = batches_ahead_ && open_ == &batches_ahead_->deciding();
  if (decided_ahead) std::swap(layout, batches_ahead_->deciding());
  const bool in_order = open_ == &layout || open_ == &ahead_ || decided_ahead;
  rows_.attach(layout.handles);
  const auto has_none = [](const Handle& record) { return record.block == Handle::nowhere; };
  if (!in_order || rows_.placed() || layout.handles.empty() || std::ranges::any_of(layout.handles, has_none))
    return false;
  layout.number = number_;
  if (number_ < std::max(start_.next, sought_) || passes_->epoch() < from_ ||
      number_ % shard_.batch_count != shard_.batch_index)
    return false;
  if (!take_rows(layout).ok()) return false;
  layout.rows = std::ssize(layout.handles);
  occurrences_.assign(layout, *passes_, rows_);
  return hand_over(layout).ok();
}

Reader& OrderPlane::reader() { return windows_ ? static_cast<Reader&>(*windows_) : open_files_; }

OpenParts::Expected OrderPlane::expect(std::span<const Handle> rows) {
  return windows_ ? windows_->expect_batch(rows) : open_files_.expect_batch(rows);
}

/// May be repeated when it is interrupted.
Result<void> OrderPlane::hand_over(BatchLayout& layout) {
  if (!windows_) return open_files_.hand_over(layout, ordinal_);
  FOREBAY_DO(windows_->fetch_batch(layout.handles));
  windows_->hand_over(layout, ordinal_);
  return {};
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
    add_epoch_end(layout);
    if (wanted(layout)) {
      layout.after.mixed = passes_->mixed();
      return true;
    }
    leave_out(layout);
  }
}

/// Whether the batch is of a wanted epoch and of this shard by batch, and not before the one that is sought.
bool OrderPlane::wanted(const BatchLayout& layout) const {
  return layout.epoch >= from_ && layout.number >= sought_ && layout.number % shard_.batch_count == shard_.batch_index;
}

Result<bool> OrderPlane::cut_or_take(BatchLayout& layout) {
  if (!has_ahead_ && open_ != &ahead_) return ordered(layout);
  if (!has_ahead_) {  // `look_ahead` failed: its batch fails again, or goes on
    FOREBAY_TRY(has_ahead_, ordered(ahead_));
    if (!has_ahead_) return false;
  }
  std::swap(layout, ahead_);
  ahead_.clear();
  has_ahead_ = false;
  return true;
}

/// Fails only when it is interrupted. Another error is that of the next batch, which is cut again.
Result<void> OrderPlane::look_ahead(BatchLayout& layout) {
  const auto more = ordered(ahead_);
  if (!more.ok() && open_files_.interrupted(more.error())) return more.error();
  has_ahead_ = more.ok() && *more;
  layout.ends_epoch = more.ok() && (!*more || ahead_.epoch > layout.epoch);
  if (!*layout.ends_epoch) return {};
  layout.after = after_epoch(layout);
  layout.done.of_epoch = {.value = 1, .exact = true};
  layout.done.of_run = program_.epochs ? share_of_run(layout.after, program_) : layout.done.of_run;
  return {};
}

/// Where a later epoch begins; an epoch that does not come begins after the last batch.
Position OrderPlane::epoch_start(std::int64_t epoch) const {
  const auto found = epoch_starts_.find(epoch);
  if (found != epoch_starts_.end()) return found->second;
  return {.epoch = epoch, .batch = number_, .next = number_, .branches = passes_->began().branches};
}

/// The position after the last batch of an epoch.
Position OrderPlane::after_epoch(const BatchLayout& layout) {
  const std::int64_t epoch = layout.epoch + 1;
  Position out{.epoch = epoch, .batch = layout.number + 1, .next = layout.number + 1};
  if (keeps_starts()) {
    out = epoch_start(epoch);
    epoch_starts_.erase(epoch_starts_.begin(), epoch_starts_.lower_bound(epoch));
  }
  out.from = epoch;
  out.blocks.resize(blocks_.size());
  out.delivered = blocks_.empty() ? 0 : layout.number + 1;
  return out;
}

/// The next batch after the orders on batches, which have their own numbers of batches. Fails like `cut`.
Result<bool> OrderPlane::ordered(BatchLayout& layout) {
  if (blocks_.empty()) return cut(layout);
  FOREBAY_TRY(const bool more, blocks_.back().pull(layout));
  if (!more) return false;
  layout.number = delivered_++;
  layout.after = blocks_.back().position();
  layout.after.from = layout.epoch;
  layout.after.begun = 1;
  layout.after.delivered = delivered_;
  return true;
}

/// Cuts the next batch of the stream. Returns false at the end of the run. After an error the call may be repeated with
/// the same layout.
Result<bool> OrderPlane::cut(BatchLayout& layout) {
  FOREBAY_TRY(const bool more, cut_rows(layout));
  if (!more) return false;
  layout.number = number_++;
  layout.after = after(layout);
  if (!blocks_.empty()) cut_after_ = layout.after;
  layout.done.of_run = share_of_run({.epoch = pass_, .done = done_}, program_);
  layout.done.of_epoch = done_of_epoch(layout);
  layout.epoch_count = -1;
  layout.ends_epoch.reset();
  return true;
}

Result<bool> OrderPlane::cut_rows(BatchLayout& layout) {
  open_files_.begin_batch(ordinal_);
  while (true) {
    FOREBAY_TRY(const Cut got, cut_batch(layout));
    // A batch for which the program asks no rows does not meet the end of the run.
    const bool asked = program_.batching.asks && rows_.elements().empty();
    const bool past_end = asked && program_.epochs && passes_->epoch() >= *program_.epochs;
    if (got == Cut::batch && past_end) return false;
    if (got == Cut::batch) {
      FOREBAY_DO(take_rows(layout));
      occurrences_.assign(layout, *passes_, rows_);
      passes_without_batch_ = 0;
      ++cut_in_pass_;
      return true;
    }
    if (end_of_pass(layout)) return true;
    if (passes_->over()) return false;
    if (!program_.epochs && !passes_->was_empty() && ++passes_without_batch_ == max_passes_without_batch) {
      return Error{Code::data, Detail::failed_precondition,
                   fmt::format("{} epochs one after the other had fewer records than a batch, and `remainder: drop` "
                               "leaves those out: this run would never deliver anything; make batches smaller than an "
                               "epoch, or set `remainder` or `epoch_boundary` to something else",
                               max_passes_without_batch)};
    }
    passes_->next_pass();
    if (keeps_starts()) {
      const std::int64_t epoch = passes_->epoch();
      epoch_starts_[epoch] = {.epoch = epoch, .batch = number_, .next = number_, .branches = passes_->began().branches};
    }
    if (passes_->over()) return false;
  }
}

/// After an error the call may be repeated with the same layout, and goes on with the same batch.
Result<Cut> OrderPlane::cut_batch(BatchLayout& layout) {
  rows_.attach(layout.handles);
  if (open_ == nullptr) {
    rows_.clear();
    passes_->begin_batch(number_);
  }
  open_ = &layout;
  const auto got = batcher_->cut(*passes_, rows_);
  rows_.trim();
  if (got.ok()) open_ = nullptr;
  return got;
}

/// Records of the last batch of a run, when more passes would have filled it; else 0.
std::int64_t OrderPlane::cut_short(const BatchLayout& layout) const {
  if (program_.batching.lanes == 0 && program_.batching.carries) {  // how far it has pulled ahead depends on the time
    const std::int64_t rows = layout.filled_rows();
    return rows < program_.batching.max_rows.value_or(rows + 1) ? rows : 0;
  }
  if (program_.batching.lanes == 0) return passes_->pulled();
  const auto empty = std::ranges::count(layout.handles, Handle::nowhere, &Handle::block);
  return empty > 0 ? std::ssize(layout.handles) - empty : 0;
}

/// The position after a batch that was just cut.
Position OrderPlane::after(const BatchLayout& layout) {
  passes_->forget(passes_->oldest());
  Position out = passes_->began();
  if (passes_->epoch() != pass_) done_ = 0;
  pass_ = passes_->epoch();
  done_ = std::max(done_, passes_->done());
  out.next = number_;
  out.from = layout.epoch;
  out.begun = 1;
  out.cut_short = 0;
  out.done = out.epoch == pass_ ? done_ : whole_pass;
  out.ended = 0;
  if (!passes_->over()) return out;
  if (batcher_->oldest()) {  // the batcher cuts more batches of what it holds
    out.ended = program_.epochs.value_or(0);
    return out;
  }
  // The end of the run was found while the batch was cut. A longer run begins its next batch with the next pass.
  out.cut_short = cut_short(layout);
  out.batch = number_;
  out.pulled = 0;
  out.carried.clear();
  return out;
}

Result<void> OrderPlane::catch_up(BatchLayout& layout) {
  if (passing_ > 0) FOREBAY_DO(pass_over());
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
  open_files_.begin_batch(ordinal_);
  reader().drop(layout.handles);
  layout.handles.clear();
  layout.occurrences.clear();
  layout.identities.clear();
  layout.numbers.clear();
  open_files_.collect();
  open_files_.limit_memory();
}

}  // namespace forebay::engine
