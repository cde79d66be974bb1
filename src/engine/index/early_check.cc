// SPDX-License-Identifier: Apache-2.0
#include "engine/index/early_check.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "columns/take/row_copy.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/pool_budget.h"
#include "engine/memory/ticket_columns.h"
#include "engine/program/attribute_values.h"

namespace forebay::engine {

namespace {

constexpr std::size_t frames_at_once = 4096;
constexpr std::int64_t max_kept = std::int64_t{4} << 20;  // bytes of columns that stay for the next group

}  // namespace

EarlyCheck::EarlyCheck(const Program& program, std::shared_ptr<BufferPool> pool, Keep keep)
    : program_{program},
      work_{program.early},
      pool_{std::move(pool)},
      frames_{program, pool_},
      keeps_{keep == Keep::records && program.taking && program.taking->early} {
  if (corruption_of(program) == Corruption::find || keeps_) {
    decodings_.push_back({.decoder = *program.decoder, .columns = program.decoded});
    use(program.decoded);
  }
  const std::size_t before = used_.size();
  use(work_.decoded);
  if (used_.size() > before) decodings_.push_back({.decoder = *work_.decoder, .columns = work_.decoded});
  for (const PlacedStep& step : work_.steps) {
    made_.insert(made_.end(), step.makes.begin(), step.makes.end());
    memories_.push_back(step.step->memory());
  }
  use(made_);
  if (!keeps_) return;
  for (const PlacedStep& step : program.taking->element_steps)
    of_elements_.insert(of_elements_.end(), step.makes.begin(), step.makes.end());
}

void EarlyCheck::use(const std::vector<ColumnId>& columns) {
  std::ranges::copy_if(columns, std::back_inserter(used_),
                       [this](ColumnId id) { return std::ranges::find(used_, id) == used_.end(); });
}

void EarlyCheck::run(std::span<const Record> records, std::vector<Malformed>& bad, std::span<std::int64_t> attributes) {
  const std::size_t width = work_.attributes.size();
  decoded_ = {};
  if (!keeps_ || !compute_together(records, attributes)) {
    begin_lists();
    each_group(records, bad, [&](std::span<const Record> group, std::size_t first) {
      return compute(group, first, attributes.subspan(first * width, group.size() * width));
    });
  }
  if (!lists_) return;
  lists_->set_records(records.size());
  lists_->charge(*pool_);
}

void EarlyCheck::begin_lists() {
  if (work_.frame_attributes.empty()) return;
  const auto is_verdict = [](const FrameAttribute& one) { return one.value.type() == expression::Type::boolean; };
  lists_ = std::make_shared<FrameLists>(work_.frame_attributes.size(),
                                        std::ranges::all_of(work_.frame_attributes, is_verdict));
}

/// Decodes all records at once and keeps their columns. False: a record is malformed, a step fails, or the budget has
/// no room; then nothing is kept.
bool EarlyCheck::compute_together(std::span<const Record> records, std::span<std::int64_t> attributes) {
  const auto size = [](std::size_t sum, const Record& record) { return sum + record.size(); };
  const auto bytes = static_cast<std::int64_t>(std::accumulate(records.begin(), records.end(), std::size_t{0}, size));
  if (records.empty() || pool_->over(2 * bytes)) return false;
  begin_lists();
  block_ = {};
  auto rows = std::make_shared<RowBlock>();
  std::optional<bool> done;
  if (catch_all([&] { done = evaluate(records, 0, attributes).ok() && make_elements().ok(); })) pool_->look();
  auto columns = std::make_shared<TicketColumns>();
  std::swap(columns->block, block_);
  if (!done.value_or(false)) return false;
  decoded_.bytes = 0;
  for (const Column& column : columns->block.columns) {
    rows->columns.push_back(columns::view_of(column));
    decoded_.bytes += owned_bytes(column);
  }
  if (pool_->over(decoded_.bytes)) return true;
  columns->charge.set(*pool_, decoded_.bytes, MemoryUse::scan);
  rows->rows = std::ssize(records);
  rows->owner = std::move(columns);
  decoded_.rows = std::move(rows);
  return true;
}

/// Applies the steps on elements, to all records of the block.
Result<void> EarlyCheck::make_elements() {
  begin_rows(block_, of_elements_, block_.rows);
  const PoolBudget budget{*pool_};
  StepContext context{.seed = program_.seed, .step = 0, .stop = pool_.get(), .budget = &budget};
  for (const PlacedStep& placed : program_.taking->element_steps) {
    pool_->look();
    const auto memory = placed.step->memory();
    FOREBAY_DO(placed.step->apply(block_, context, memory.get()));
    ++context.step;
  }
  return {};
}

Result<void> EarlyCheck::compute(std::span<const Record> records, std::size_t first,
                                 std::span<std::int64_t> attributes) {
  FOREBAY_DO(evaluate(records, first, attributes));
  if (!work_.empty()) account();
  return {};
}

Result<void> EarlyCheck::evaluate(std::span<const Record> records, std::size_t first,
                                  std::span<std::int64_t> attributes) {
  if (block_.columns.empty()) block_ = columns_of(program_.schema, pool_.get());
  pool_->look();
  for (Decoding& decoding : decodings_) {
    if (!decoding.memory) decoding.memory = decoding.decoder.memory();
    begin_rows(block_, decoding.columns, std::ssize(records));
    FOREBAY_DO(decoding.decoder.decode(records, 0, block_, *decoding.memory));
  }
  if (work_.empty()) return {};
  begin_rows(block_, made_, std::ssize(records));
  std::size_t steps = 0;
  for (std::size_t number = 0; number < work_.attributes.size(); ++number) {
    FOREBAY_DO(make_columns(steps, work_.attributes[number].steps));
    FOREBAY_DO(evaluate(work_.attributes[number], number, attributes));
  }
  if (lists_) {
    FOREBAY_DO(make_columns(steps, work_.frame_attributes.back().steps));
    FOREBAY_DO(list_frames(first, std::ssize(records)));
  }
  return {};
}

/// Applies the steps from number `done` to `steps`, which are not applied yet.
Result<void> EarlyCheck::make_columns(std::size_t& done, std::size_t steps) {
  for (; done < steps; ++done) {
    const PlacedStep& placed = work_.steps[done];
    FOREBAY_DO(placed.step->apply(block_, {.stop = pool_.get()}, memories_[done].get()).at(placed.name));
  }
  return {};
}

/// Computes the integers of the frames of a group, some thousands at a time. `first`: the number of its first record.
Result<void> EarlyCheck::list_frames(std::size_t first, std::int64_t records) {
  lists_->set_records(first);
  std::vector<FrameOf> frames;
  std::size_t begin = 0;  // place of frames.front() in the lists
  for (std::int64_t record = 0; record < records; ++record) {
    const std::int64_t count = FrameValues::frames_of(program_, block_, record);
    const std::size_t at = lists_->add_record(count);
    for (std::int64_t frame = 0; frame < count; ++frame) {
      if (frames.empty()) begin = at + static_cast<std::size_t>(frame);
      frames.push_back({.record = static_cast<std::uint32_t>(record), .frame = frame});
      if (frames.size() < frames_at_once) continue;
      FOREBAY_DO(evaluate_frames(frames, begin));
      frames.clear();
    }
  }
  return evaluate_frames(frames, begin);
}

/// `first`: the place of the first frame in the lists. An error names the record.
Result<void> EarlyCheck::evaluate_frames(std::span<const FrameOf> frames, std::size_t first) {
  pool_->look();
  const auto sources = [this](ColumnId id) { return std::vector{columns::Elements::of(block_[id])}; };
  std::vector<std::int64_t> values(frames.size());
  for (std::size_t number = 0; number < work_.frame_attributes.size(); ++number) {
    const FrameAttribute& attribute = work_.frame_attributes[number];
    const auto done = frames_.evaluate(attribute, sources, block_, frames, values);
    if (!done.ok()) {
      const auto row = static_cast<std::size_t>(std::max<std::int64_t>(0, done.error().place().row));
      Error error{done.error().code(), done.error().detail(), done.error().message(), Place{.row = frames[row].record}};
      return error.at(attribute.name);
    }
    for (std::size_t i = 0; i < values.size(); ++i) lists_->set(first + i, number, values[i]);
  }
  return {};
}

Result<void> EarlyCheck::evaluate(const EarlyAttribute& attribute, std::size_t number,
                                  std::span<std::int64_t> attributes) {
  std::vector<expression::RowFault> faults;
  const expression::Values values = attribute.value.evaluate(block_, faults);
  if (!faults.empty()) {
    return Error{Code::data, Detail::invalid_argument, faults.front().message, Place{.row = faults.front().row}}.at(
        attribute.name);
  }
  return write_integers(attribute, values, number, work_.attributes.size(), attributes).at(attribute.name);
}

/// Charges the memory of the columns and of the decoder to the budget, and frees what a long record has made large.
void EarlyCheck::account() {
  std::int64_t bytes = 0;
  for (const Decoding& decoding : decodings_) bytes += decoding.memory->bytes();
  for (const auto& memory : memories_) bytes += memory == nullptr ? 0 : memory->bytes();
  for (const ColumnId id : used_) bytes += owned_bytes(block_[id]);
  bytes += frames_.bytes();
  charge_.set(*pool_, bytes, MemoryUse::scan);
  if (bytes <= max_kept) return;
  block_ = {};
  frames_.clear();
  for (Decoding& decoding : decodings_) decoding.memory.reset();
  for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i] = work_.steps[i].step->memory();
  charge_.set(*pool_, 0, MemoryUse::scan);
}

RecordCheck check_of(const Program& program, const std::shared_ptr<BufferPool>& pool, EarlyCheck::Keep keep) {
  if (corruption_of(program) == Corruption::fail && program.early.empty()) return {};
  const auto check = std::make_shared<EarlyCheck>(program, pool, keep);
  RecordCheck out{.run = [check](std::span<const Record> records, std::vector<Malformed>& bad,
                                 std::span<std::int64_t> attributes) { check->run(records, bad, attributes); },
                  .attributes = program.early.attributes.size()};
  if (!program.early.frame_attributes.empty()) out.frame_lists = [check] { return check->frame_lists(); };
  if (keep == EarlyCheck::Keep::records && program.taking && program.taking->early)
    out.decoded = [check] { return check->decoded(); };
  return out;
}

}  // namespace forebay::engine
