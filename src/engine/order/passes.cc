// SPDX-License-Identifier: Apache-2.0
#include "engine/order/passes.h"

#include <algorithm>
#include <utility>

#include "engine/order/branches/combination.h"
#include "engine/order/file_places.h"
#include "engine/order/in_parts.h"
#include "engine/order/windows/window_stage.h"

namespace forebay::engine {

namespace {

/// The source's files after the orders of files. When a pass has given all its files, the first files of the next pass
/// are announced, so that idle threads scan them ahead.
class FilesOfPass final : public Handles {
 public:
  FilesOfPass(const Program& program, OpenFiles& streams)
      : program_{program},
        open_files_{streams},
        files_{ordered_files(program, &streams, true)},
        next_{ordered_files(program, &streams, false)} {}

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

/// Whether a window stage over sequences stands before record order `order`.
bool windows_at(const Program& program, std::size_t order) {
  return program.windows && program.windows->windowing.grain == WindowGrain::sequences &&
         program.windows->orders_before == order;
}

/// The files of `chain`, interleaved behind what acts within each of them.
std::unique_ptr<Handles> in_parts(const Program& program, std::unique_ptr<Handles> files, OpenParts& parts,
                                  WindowReader* windows) {
  const std::uint64_t first = program.file_orders.size() + 1;
  Reader& elements = program.windows_in_parts ? static_cast<Reader&>(*windows) : parts;
  const auto of_part = [&program, &parts, windows, first](std::unique_ptr<Handles> chain, std::uint32_t part) {
    std::size_t attributes = program.early.selecting;
    for (std::size_t i = 0; i < program.orders_in_parts; ++i) {
      const Ordering& order = program.record_orders[i];
      chain = order.make({.seed = mix(program.seed ^ (part + 1)),
                          .purpose = first + 1 + i,
                          .deterministic = program.deterministic,
                          .upstream = std::move(chain),
                          .reader = &parts,
                          .first_attribute = attributes,
                          .ask = ask_of(parts, order.asks)});
      attributes += order.attributes.size();
    }
    if (!program.windows_in_parts) return chain;
    chain = std::make_unique<WindowStage>(program, parts.branch(0), *windows, std::move(chain));
    return chain;
  };
  const auto interleave = [&](Reader& reader) {
    return program.interleave.make({.seed = program.seed,
                                    .purpose = first,
                                    .deterministic = program.deterministic,
                                    .upstream = std::move(files),
                                    .reader = &reader,
                                    .ask = ask_of(parts, program.interleave.asks),
                                    .gauge = parts.add_gauge()});
  };
  return std::make_unique<InParts>(parts, elements, of_part, interleave);
}

/// Adds the orders of records and the window stage to `chain`, with the interleave that opens the files before them if
/// there is a source. `windows`: null without a window stage.
std::unique_ptr<Handles> with_orders(const Program& program, std::unique_ptr<Handles> chain, OpenParts& parts,
                                     WindowReader* windows) {
  std::uint64_t purpose = program.file_orders.size();
  std::size_t attributes = program.early.selecting;
  Reader* reader = &parts;
  const auto& orders = program.record_orders;
  std::size_t endless = program.epochs ? 0 : orders.size();  // the orders before this one never end
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders[i].count && !orders[i].count(0)) endless = std::max(endless, i);
  }
  const auto add = [&](const Ordering& order, bool for_ever) {
    chain = order.make({.seed = program.seed,
                        .purpose = ++purpose,
                        .deterministic = program.deterministic,
                        .upstream = std::move(chain),
                        .reader = reader,
                        .first_attribute = attributes,
                        .endless = for_ever,
                        .ask = ask_of(parts, order.asks),
                        .gauge = parts.add_gauge()});
    attributes += order.attributes.size();
  };
  if (acts_in_parts(program)) {
    chain = in_parts(program, std::move(chain), parts, windows);
    purpose += 1 + program.orders_in_parts;
    for (std::size_t i = 0; i < program.orders_in_parts; ++i) attributes += orders[i].attributes.size();
  }
  const auto begin_windows = [&] {
    reader = windows;
    attributes = 0;  // those of windows are counted apart
  };
  if (program.windows && program.windows->windowing.grain == WindowGrain::parts) begin_windows();
  if (program.branches.empty() && !acts_in_parts(program)) add(program.interleave, endless > 0);
  if (program.windows_in_parts) begin_windows();
  for (std::size_t i = program.orders_in_parts; i <= orders.size(); ++i) {
    if (windows_at(program, i) && !program.windows_in_parts) {
      chain = std::make_unique<WindowStage>(program, parts.branch(0), *windows, std::move(chain));
      begin_windows();
    }
    if (i < orders.size()) add(orders[i], i < endless);
  }
  return chain;
}

}  // namespace

std::unique_ptr<Handles> orders_of(const Program& program, OpenFiles& files) {
  return with_orders(program, std::make_unique<FilesOfPass>(program, files), files, nullptr);
}

Passes::Passes(const Program& program, OpenParts& parts, WindowReader* windows, const Position& start)
    : program_{program},
      open_files_{parts},
      windows_{windows},
      takes_turns_{engine::takes_turns(program)},
      batch_{start.batch},
      first_wanted_{start.next},
      from_{start.from},
      placeholders_{start.pulled},
      began_{start} {
  const auto& orders = program.record_orders;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (unfiltered_.size() == i && orders[i].attributes.empty() && !windows_at(program, i))
      unfiltered_.push_back(orders[i]);
  }
  if (program.branches.empty()) {
    auto files = std::make_unique<FilesOfPass>(program, parts.branch(0));
    chain_ = with_orders(program, std::move(files), parts, windows);
  } else {
    auto& branches = static_cast<OpenBranches&>(parts);  // of a program with branches, `open_parts` makes one
    auto combination = std::make_unique<Combination>(program, branches, start.branches);
    combination_ = combination.get();
    chain_ = with_orders(program, std::move(combination), parts, windows);
  }
  begin(start.epoch);
  const std::vector<BranchCursor> branches = began_.back().branches;
  began_ = {start};
  began_.front().branches = branches;
}

void Passes::begin(std::int64_t epoch) {
  epoch_ = epoch;
  began_.push_back({.epoch = epoch, .batch = batch_, .pulled = pulled_});
  if (combination_ != nullptr) began_.back().branches = combination_->cursors();
  if (carrying_ != nullptr) carry_over();
  forget(oldest());
  given_ = 0;
  repeat_order_only();
  if (over()) return;
  if (windows_ != nullptr) windows_->begin(epoch);
  chain_->begin(epoch);  // closes files that the last pass left open; they count for the last pass
  open_files_.begin_pass(epoch);
}

/// Adds to the position of the pass that begins what the batcher holds.
void Passes::carry_over() {
  Position& at = began_.back();
  at.pulled = 0;
  at.carried = carrying_->carried();
  const bool nothing = std::ranges::all_of(at.carried, [](std::int64_t value) { return value == 0; });
  if (nothing) at.carried.clear();
}

std::int64_t Passes::oldest() const {
  return carrying_ != nullptr ? std::min(epoch_, carrying_->oldest().value_or(epoch_)) : epoch_;
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
    ++empty_passes_;
    if (program_.hard_epochs) {
      pass_ended_ = true;
    } else {
      begin(epoch_ + 1);
    }
  }
  return std::size_t{0};
}

MixedPlace Passes::mixed() const {
  if (!takes_turns_) return {};
  if (combination_ != nullptr) return combination_->place();
  return std::max(open_files_.branch(0).mixed(), MixedPlace{.pass = over() ? epoch_ : 0});
}

Result<std::int64_t> Passes::skip(std::int64_t n, Reader& reader) {
  std::int64_t count = std::min(n, placeholders_);
  placeholders_ -= count;
  if (count == 0) {
    if (over() || pass_ended_) return count;
    FOREBAY_TRY(count, chain_->skip(n, reader));
    given_ += count;
  }
  if (count > 0) delivered(static_cast<std::size_t>(count));
  return count;
}

double Passes::pass_frac() const {
  if (combination_ != nullptr) return combination_->done();
  if (const auto records = open_files_.indexed()) {
    // With a filter or windows, only the records that were judged count.
    const bool filtered = unfiltered_.size() < program_.record_orders.size() || program_.windows;
    const auto& orders = filtered ? unfiltered_ : program_.record_orders;
    const std::int64_t all = count_after(orders, *records).value_or(*records);
    return static_cast<double>(filtered ? open_files_.judged() : given_) /
           static_cast<double>(std::max<std::int64_t>(1, all));
  }
  const auto all = static_cast<std::int64_t>(program_.source.parts());
  const std::int64_t files = program_.files_a_pass > 0 ? program_.files_a_pass : all;
  return open_files_.files_done() / static_cast<double>(std::max<std::int64_t>(1, files));
}

std::optional<std::int64_t> Passes::sequences() const {
  const bool of_parts = program_.windows && program_.windows->windowing.grain == WindowGrain::parts;
  if (combination_ != nullptr || of_parts) return std::nullopt;
  std::optional<std::int64_t> out = open_files_.indexed();
  if (const RowSource* const rows = program_.source.rows.get(); rows != nullptr && program_.file_orders.empty()) {
    if (!rows->resident()) return std::nullopt;
    out = 0;
    for (const RowPart& part : rows->parts) *out += part.in_memory();
  }
  const auto& orders = program_.record_orders;
  const std::size_t before = program_.windows ? program_.windows->orders_before : orders.size();
  for (std::size_t i = 0; i < orders.size() && out; ++i) {
    if (orders[i].selects || (i >= before && orders[i].count)) return std::nullopt;
    if (orders[i].count) out = orders[i].count(*out);
  }
  return out;
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
  if (batch_passes_.empty() || batch_passes_.back().epoch != epoch_) batch_passes_.push_back({pulled_, epoch_});
  pulled_ += static_cast<std::int64_t>(count);
  if (!batch_epoch_) batch_epoch_ = epoch_;
  return count;
}

}  // namespace forebay::engine
