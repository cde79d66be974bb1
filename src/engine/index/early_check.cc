// SPDX-License-Identifier: Apache-2.0
#include "engine/index/early_check.h"

#include <utility>

#include "engine/memory/ticket_columns.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t max_kept = std::int64_t{1} << 20;  // bytes of columns that stay for the next group

}  // namespace

EarlyCheck::EarlyCheck(const Program& program, std::shared_ptr<BufferPool> pool)
    : program_{program}, work_{program.early}, pool_{std::move(pool)}, used_{work_.decoded} {
  if (corruption_of(program) == Corruption::find) trial_.emplace(program, pool_.get());
  for (const PlacedStep& step : work_.steps) used_.insert(used_.end(), step.makes.begin(), step.makes.end());
}

void EarlyCheck::run(std::span<const Record> records, std::vector<Malformed>& bad, std::span<std::int64_t> attributes) {
  if (trial_) trial_->run(records, bad);
  if (work_.attributes.empty()) return;
  const std::vector<Malformed> malformed = std::exchange(bad, {});
  const std::size_t width = work_.attributes.size();
  std::size_t first = 0;
  const auto compute_to = [&](std::size_t end) {
    std::vector<Malformed> found;
    compute(records.subspan(first, end - first), found, attributes.subspan(first * width, (end - first) * width));
    for (Malformed& one : found) bad.push_back({.record = first + one.record, .error = std::move(one.error)});
  };
  for (const Malformed& one : malformed) {
    compute_to(one.record);
    bad.push_back(one);
    first = one.record + 1;
  }
  compute_to(records.size());
}

void EarlyCheck::compute(std::span<const Record> records, std::vector<Malformed>& bad,
                         std::span<std::int64_t> attributes) {
  const std::size_t width = work_.attributes.size();
  each_group(records, bad, [&](std::span<const Record> group, std::size_t first) {
    return compute_group(group, attributes.subspan(first * width, group.size() * width));
  });
}

Result<void> EarlyCheck::compute_group(std::span<const Record> records, std::span<std::int64_t> attributes) {
  if (block_.columns.empty()) block_ = columns_of(program_.schema, pool_.get());
  if (!memory_ && work_.decoder) memory_ = work_.decoder->memory();
  pool_->look();
  begin_rows(block_, used_, std::ssize(records));
  if (work_.decoder) FOREBAY_DO(work_.decoder->decode(records, 0, block_, *memory_));
  std::size_t steps = 0;
  for (std::size_t number = 0; number < work_.attributes.size(); ++number) {
    for (; steps < work_.attributes[number].steps; ++steps) {
      const PlacedStep& placed = work_.steps[steps];
      FOREBAY_DO(placed.step->apply(block_).at(placed.name));
    }
    FOREBAY_DO(evaluate(work_.attributes[number], number, attributes));
  }
  account();
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
  const std::size_t width = work_.attributes.size();
  const bool boolean = values.type == expression::Type::boolean;
  for (std::size_t row = 0; row * width < attributes.size(); ++row) {
    const std::size_t i = values.constant ? 0 : row;
    attributes[row * width + number] = boolean ? values.booleans[i] : values.integers[i];
  }
  return {};
}

/// Charges the memory of the columns and of the decoder to the budget, and frees what a long record has made large.
void EarlyCheck::account() {
  std::int64_t bytes = memory_ ? memory_->bytes() : 0;
  for (const ColumnId id : used_) bytes += owned_bytes(block_[id]);
  charge_.set(*pool_, bytes);
  if (bytes <= max_kept) return;
  block_ = {};
  memory_.reset();
  charge_.set(*pool_, 0);
}

RecordCheck check_of(const Program& program, const std::shared_ptr<BufferPool>& pool) {
  if (corruption_of(program) == Corruption::fail && program.early.attributes.empty()) return {};
  return {.run = [check = std::make_shared<EarlyCheck>(program, pool)](
                     std::span<const Record> records, std::vector<Malformed>& bad,
                     std::span<std::int64_t> attributes) { check->run(records, bad, attributes); },
          .attributes = program.early.attributes.size()};
}

}  // namespace forebay::engine
