// SPDX-License-Identifier: Apache-2.0
#include "engine/order/order_plane.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

namespace forebay::engine {

const UsedBlock& BatchLayout::block_of(std::int64_t row) const {
  const std::uint32_t slot = handles[static_cast<std::size_t>(row)].block;
  return *std::find_if(blocks.begin(), blocks.end(), [&](const UsedBlock& used) { return used.slot == slot; });
}

/// The first stage: the handles of the source's files, in the order of the list.
class OrderPlane::Files final : public Handles {
 public:
  explicit Files(std::size_t count) : count_{count} {}
  void begin(std::int64_t) override { next_ = 0; }
  Result<std::size_t> pull(std::span<Handle> out) override {
    const std::size_t count = std::min(out.size(), count_ - next_);
    for (std::size_t i = 0; i < count; ++i) out[i] = {.block = static_cast<std::uint32_t>(next_ + i)};
    next_ += count;
    return count;
  }

 private:
  const std::size_t count_;
  std::size_t next_ = 0;
};

/// The source's files after the orders of files. When a pass has given all its files, the first files of the next pass
/// are announced, so that idle threads scan them ahead.
class OrderPlane::FilesOfPass final : public Handles {
 public:
  FilesOfPass(const Program& program, OpenFiles& streams)
      : program_{program}, open_files_{streams}, files_{chain(program)}, next_{chain(program)} {}

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    announced_ = false;
    files_->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    FOREBAY_TRY(const std::size_t count, files_->pull(out));
    if (count == 0 && !std::exchange(announced_, true)) announce();
    return count;
  }

 private:
  static std::unique_ptr<Handles> chain(const Program& program) {
    std::unique_ptr<Handles> out = std::make_unique<Files>(program.source.files.size());
    for (std::size_t i = 0; i < program.file_orders.size(); ++i) {
      out = program.file_orders[i].make(
          {.seed = program.seed, .purpose = i + 1, .deterministic = program.deterministic, .upstream = std::move(out)});
    }
    return out;
  }

  void announce() {
    if (program_.epochs && epoch_ + 1 >= *program_.epochs) return;
    if (program_.files_a_pass > 0) return;  // a shard of whole files: it reads only some of the files
    next_->begin(epoch_ + 1);
    for (std::int64_t i = 0; i < open_files_.files_ahead(); ++i) {
      Handle file;
      const auto count = next_->pull({&file, 1});
      if (!count.ok() || *count == 0) return;  // the next pass reports the error
      open_files_.announce(file);
    }
  }

  const Program& program_;
  OpenFiles& open_files_;
  const std::unique_ptr<Handles> files_;
  const std::unique_ptr<Handles> next_;  // a second chain of the same orders, one pass ahead
  std::int64_t epoch_ = 0;
  bool announced_ = false;
};

/// All passes of a run as one stream of handles, after all orders. With hard epochs, `pull` returns 0 at the end of
/// each pass until `next_pass`; otherwise the next pass follows at once, also within a batch.
class OrderPlane::Passes final : public Handles {
 public:
  Passes(const Program& program, OpenFiles& streams, const Position& start)
      : program_{program},
        open_files_{streams},
        batch_{start.batch},
        first_wanted_{start.next},
        from_{start.from},
        placeholders_{start.pulled},
        began_{start} {
    chain_ = std::make_unique<FilesOfPass>(program, streams);
    std::uint64_t purpose = program.file_orders.size();
    const auto add = [&](const Ordering& order) {
      chain_ = order.make({.seed = program.seed,
                           .purpose = ++purpose,
                           .deterministic = program.deterministic,
                           .upstream = std::move(chain_),
                           .reader = &streams});
    };
    add(program.interleave);
    for (const Ordering& order : program.record_orders) add(order);
    begin(start.epoch);
    began_ = start;
  }

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    began_ = {.epoch = epoch, .batch = batch_, .pulled = pulled_};
    given_ = 0;
    repeat_order_only();
    if (over()) return;
    chain_->begin(epoch);  // closes files that the last pass left open; they count for the last pass
    open_files_.begin_pass();
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    if (placeholders_ > 0) return fill_with_placeholders(out);
    while (!over() && !pass_ended_) {
      FOREBAY_TRY(const std::size_t count, chain_->pull(out));
      if (count > 0) {
        given_ += static_cast<std::int64_t>(count);
        return delivered(count);
      }
      FOREBAY_DO(open_files_.end_pass());
      if (++empty_passes_ > max_empty_passes && !program_.epochs) nothing_ = true;
      if (program_.hard_epochs) {
        pass_ended_ = true;
      } else {
        begin(epoch_ + 1);
      }
    }
    return std::size_t{0};
  }

  [[nodiscard]] bool over() const { return nothing_ || (program_.epochs && epoch_ >= *program_.epochs); }
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
    repeat_order_only();
  }
  /// Batches of earlier epochs are dropped from now on.
  void skip_to(std::int64_t epoch) {
    from_ = epoch;
    repeat_order_only();
  }
  /// Whether the last two passes had no records.
  [[nodiscard]] bool was_empty() const { return empty_passes_ > 1; }
  /// The position at which the present pass began.
  [[nodiscard]] const Position& began() const { return began_; }
  /// The pass of the first row of the present batch.
  [[nodiscard]] std::int64_t batch_epoch() const { return batch_epoch_.value_or(epoch_); }

  /// Handles pulled into the present batch.
  [[nodiscard]] std::int64_t pulled() const { return pulled_; }
  /// The done part of the present pass in millionths.
  [[nodiscard]] std::int64_t done() const { return over() ? 0 : std::llround(1e6 * std::min(1.0, pass_frac())); }

 private:
  /// No record is read while batches are dropped that lie before the first wanted batch or in an earlier pass than the
  /// first wanted one. All rows of a wanted batch are pulled after that.
  void repeat_order_only() { open_files_.catch_up(batch_ < first_wanted_ || epoch_ < from_); }

  [[nodiscard]] double pass_frac() const {
    if (const auto records = open_files_.indexed()) {
      const std::int64_t all = count_after(program_.record_orders, *records).value_or(*records);
      return static_cast<double>(given_) / static_cast<double>(std::max<std::int64_t>(1, all));
    }
    const std::int64_t all = std::ssize(program_.source.files);
    const std::int64_t files = program_.files_a_pass > 0 ? program_.files_a_pass : all;
    return open_files_.files_done() / static_cast<double>(std::max<std::int64_t>(1, files));
  }

  // After more consecutive empty passes, an endless run ends: it would never deliver a batch.
  static constexpr int max_empty_passes = 1000;

  /// Fills `out` with handles without a block. They stand for records of earlier passes in the first batch of a
  /// restart, which is dropped.
  std::size_t fill_with_placeholders(std::span<Handle> out) {
    const std::size_t count = std::min(out.size(), static_cast<std::size_t>(placeholders_));
    std::fill_n(out.begin(), count, Handle{.block = BlockTable::nowhere});
    placeholders_ -= static_cast<std::int64_t>(count);
    return delivered(count);
  }

  std::size_t delivered(std::size_t count) {
    empty_passes_ = 0;
    pulled_ += static_cast<std::int64_t>(count);
    if (!batch_epoch_) batch_epoch_ = epoch_;
    return count;
  }

  const Program& program_;
  OpenFiles& open_files_;
  std::unique_ptr<Handles> chain_;
  std::int64_t epoch_ = 0;
  std::optional<std::int64_t> batch_epoch_;
  std::int64_t batch_;               // number of the batch that is being cut
  const std::int64_t first_wanted_;  // number of the first batch to deliver
  std::int64_t from_;                // epoch of the first batch to deliver
  std::int64_t pulled_ = 0;          // handles pulled into that batch so far
  std::int64_t placeholders_;
  std::int64_t given_ = 0;  // handles of this pass that were pulled
  Position began_;
  int empty_passes_ = 0;
  bool pass_ended_ = false;  // with hard epochs: `pull` returns 0 until next_pass
  bool nothing_ = false;     // too many passes were empty: the run is over
};

namespace {

constexpr int max_passes_without_batch = 16;  // more than one: files may change from pass to pass

}  // namespace

OrderPlane::OrderPlane(const Program& program, OpenFiles& streams, Position start, Shard shard)
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
  stage_ = Stage::fetch;  // when `fetch` is interrupted, the next call continues here
  FOREBAY_TRY([[maybe_unused]] const bool fetched, open_files_.fetch(layout.handles));
  stage_ = Stage::cut;
  open_files_.table().hand_over(layout.handles, ordinal_++,
                                {.payloads = layout.payloads, .blocks = layout.blocks, .unmapped = layout.unmapped});
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
    if (program_.hard_epochs) FOREBAY_DO(look_ahead(layout));
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
  layout.after = {.epoch = epoch, .batch = next, .next = next, .from = epoch};
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
  open_files_.table().release(layout.handles, ordinal_);
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
