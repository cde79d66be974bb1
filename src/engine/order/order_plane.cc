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
    std::unique_ptr<Handles> out = std::make_unique<Files>(program.source.parts());
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
      : program_{program}, open_files_{streams}, placeholders_{start.pulled}, began_{start} {
    chain_ = std::make_unique<FilesOfPass>(program, streams);
    std::uint64_t purpose = program.file_orders.size();
    std::size_t attributes = 0;
    std::size_t endless = program.epochs ? 0 : program.record_orders.size();  // the orders before this one never end
    for (std::size_t i = 0; i < program.record_orders.size(); ++i) {
      const Ordering& order = program.record_orders[i];
      if (order.count && !order.count(0)) endless = std::max(endless, i);
      if (unfiltered_.size() == i && order.attributes.empty()) unfiltered_.push_back(order);
    }
    const auto add = [&](const Ordering& order, bool for_ever) {
      chain_ = order.make({.seed = program.seed,
                           .purpose = ++purpose,
                           .deterministic = program.deterministic,
                           .upstream = std::move(chain_),
                           .reader = &streams,
                           .first_attribute = attributes,
                           .endless = for_ever});
      attributes += order.attributes.size();
    };
    add(program.interleave, endless > 0);
    for (std::size_t i = 0; i < program.record_orders.size(); ++i) add(program.record_orders[i], i < endless);
    begin(start.epoch);
    began_ = start;
  }

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    began_ = {.epoch = epoch, .batch = batch_, .pulled = pulled_};
    given_ = 0;
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
  }
  /// Whether the last two passes had no records.
  [[nodiscard]] bool was_empty() const { return empty_passes_ > 1; }
  /// The position at which the present pass began.
  [[nodiscard]] const Position& began() const { return began_; }
  /// The pass of the first row of the present batch.
  [[nodiscard]] std::int64_t batch_epoch() const { return batch_epoch_.value_or(epoch_); }

  /// The done part of the run, or of the pass when the run is endless: 0 … 1.
  [[nodiscard]] double complete_frac() const {
    const double pass = std::min(1.0, pass_frac());
    if (!program_.epochs) return pass;
    return (static_cast<double>(epoch_) + (over() ? 0 : pass)) /
           static_cast<double>(std::max<std::int64_t>(1, *program_.epochs));
  }

 private:
  [[nodiscard]] double pass_frac() const {
    if (const auto records = open_files_.indexed()) {
      const bool filtered = !program_.early.attributes.empty();  // then only the records that it has judged count
      const auto& orders = filtered ? unfiltered_ : program_.record_orders;
      const std::int64_t all = count_after(orders, *records).value_or(*records);
      return static_cast<double>(filtered ? open_files_.judged() : given_) /
             static_cast<double>(std::max<std::int64_t>(1, all));
    }
    const auto all = static_cast<std::int64_t>(program_.source.parts());
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
  std::vector<Ordering> unfiltered_;  // the orders of records before the first one with attributes
  std::unique_ptr<Handles> chain_;
  std::int64_t epoch_ = 0;
  std::optional<std::int64_t> batch_epoch_;
  std::int64_t batch_ = 0;   // number of the batch that is being cut
  std::int64_t pulled_ = 0;  // handles pulled into that batch so far
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
      complete_frac_{static_cast<double>(start.done) / 1e6} {}

OrderPlane::~OrderPlane() = default;

Result<bool> OrderPlane::next(BatchLayout& layout) {
  if (!passes_) {
    open_files_.begin_batch(number_);
    passes_ = std::make_unique<Passes>(program_, open_files_, start_);
  }
  if (!fetching_) {
    FOREBAY_TRY(const bool there, catch_up(layout));
    if (!there) return false;
    FOREBAY_TRY(const bool more, cut(layout));
    if (!more) return false;
    layout.number = number_++;
    layout.after = passes_->began();
    layout.after.next = number_;
    complete_frac_ = std::max(complete_frac_, passes_->complete_frac());
    layout.after.done = std::llround(1e6 * (program_.epochs ? complete_frac_ : passes_->complete_frac()));
    layout.complete_frac = static_cast<double>(layout.after.done) / 1e6;
    if (shard_.count > 1) keep_shard(layout);
  }
  fetching_ = true;  // when `fetch_batch` is interrupted, the next call continues here
  FOREBAY_TRY([[maybe_unused]] const bool fetched, open_files_.fetch_batch(layout.handles));
  fetching_ = false;
  if (program_.source.rows) {
    open_files_.table().hand_over_rows(layout.handles, layout.number, layout.row_blocks, layout.blocks);
    return true;
  }
  open_files_.table().hand_over(layout.handles, layout.number,
                                {.payloads = layout.payloads, .blocks = layout.blocks, .unmapped = layout.unmapped});
  return true;
}

/// Fills layout.handles, rows and epoch of the next batch. Returns false at the end of the run. Continues with the
/// handles that an interrupted call left in the layout.
Result<bool> OrderPlane::cut(BatchLayout& layout) {
  open_files_.begin_batch(number_);
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

Result<bool> OrderPlane::catch_up(BatchLayout& layout) {
  if (number_ < start_.next) open_files_.catch_up(true);
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
                               start_.next, start_.epoch, number_ + 1)};
    }
    open_files_.table().release(layout.handles, number_++);
    layout.handles.clear();
    open_files_.collect(number_);
    open_files_.limit_memory();
    if (number_ == start_.next) open_files_.catch_up(false);
  }
  return true;
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
