// SPDX-License-Identifier: Apache-2.0
#include "engine/order/passes.h"

#include <algorithm>
#include <utility>

#include "engine/order/combination.h"

namespace forebay::engine {

namespace {

/// The first stage: the handles of the source's files, in the order of the list.
class Files final : public Handles {
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
class FilesOfPass final : public Handles {
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

/// Adds the orders of records to `chain`, with the interleave that opens the files before them if there is a source.
std::unique_ptr<Handles> with_orders(const Program& program, std::unique_ptr<Handles> chain, Reader& reader) {
  std::uint64_t purpose = program.file_orders.size();
  std::size_t attributes = 0;
  std::size_t endless = program.epochs ? 0 : program.record_orders.size();  // the orders before this one never end
  for (std::size_t i = 0; i < program.record_orders.size(); ++i) {
    const Ordering& order = program.record_orders[i];
    if (order.count && !order.count(0)) endless = std::max(endless, i);
  }
  const auto add = [&](const Ordering& order, bool for_ever) {
    chain = order.make({.seed = program.seed,
                        .purpose = ++purpose,
                        .deterministic = program.deterministic,
                        .upstream = std::move(chain),
                        .reader = &reader,
                        .first_attribute = attributes,
                        .endless = for_ever});
    attributes += order.attributes.size();
  };
  if (program.branches.empty()) add(program.interleave, endless > 0);
  for (std::size_t i = 0; i < program.record_orders.size(); ++i) add(program.record_orders[i], i < endless);
  return chain;
}

}  // namespace

std::unique_ptr<Handles> orders_of(const Program& program, OpenFiles& files) {
  return with_orders(program, std::make_unique<FilesOfPass>(program, files), files);
}

Passes::Passes(const Program& program, OpenParts& parts, const Position& start)
    : program_{program},
      open_files_{parts},
      batch_{start.batch},
      first_wanted_{start.next},
      from_{start.from},
      placeholders_{start.pulled},
      began_{start} {
  for (std::size_t i = 0; i < program.record_orders.size(); ++i) {
    const Ordering& order = program.record_orders[i];
    if (unfiltered_.size() == i && order.attributes.empty()) unfiltered_.push_back(order);
  }
  if (program.branches.empty()) {
    chain_ = orders_of(program, parts.branch(0));
  } else {
    auto& branches = static_cast<OpenBranches&>(parts);  // of a program with branches, `open_parts` makes one
    auto combination = std::make_unique<Combination>(program, branches, start.branches);
    combination_ = combination.get();
    chain_ = with_orders(program, std::move(combination), parts);
  }
  begin(start.epoch);
  const std::vector<BranchCursor> branches = began_.branches;
  began_ = start;
  began_.branches = branches;
}

void Passes::begin(std::int64_t epoch) {
  epoch_ = epoch;
  began_ = {.epoch = epoch, .batch = batch_, .pulled = pulled_};
  if (combination_ != nullptr) began_.branches = combination_->cursors();
  given_ = 0;
  repeat_order_only();
  if (over()) return;
  chain_->begin(epoch);  // closes files that the last pass left open; they count for the last pass
  open_files_.begin_pass();
}

Result<std::size_t> Passes::pull(std::span<Handle> out) {
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

double Passes::pass_frac() const {
  if (combination_ != nullptr) return combination_->done();
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

/// Fills `out` with handles without a block. They stand for records of earlier passes in the first batch of a
/// restart, which is dropped.
std::size_t Passes::fill_with_placeholders(std::span<Handle> out) {
  const std::size_t count = std::min(out.size(), static_cast<std::size_t>(placeholders_));
  std::fill_n(out.begin(), count, Handle{.block = BlockTable::nowhere});
  placeholders_ -= static_cast<std::int64_t>(count);
  return delivered(count);
}

std::size_t Passes::delivered(std::size_t count) {
  empty_passes_ = 0;
  pulled_ += static_cast<std::int64_t>(count);
  if (!batch_epoch_) batch_epoch_ = epoch_;
  return count;
}

}  // namespace forebay::engine
