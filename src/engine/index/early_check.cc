// SPDX-License-Identifier: Apache-2.0
#include "engine/index/early_check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/memory/ticket_columns.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t max_kept = std::int64_t{4} << 20;  // bytes of columns that stay for the next group

}  // namespace

EarlyCheck::EarlyCheck(const Program& program, std::shared_ptr<BufferPool> pool)
    : program_{program}, work_{program.early}, pool_{std::move(pool)} {
  if (corruption_of(program) == Corruption::find) {
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
}

void EarlyCheck::use(const std::vector<ColumnId>& columns) {
  std::ranges::copy_if(columns, std::back_inserter(used_),
                       [this](ColumnId id) { return std::ranges::find(used_, id) == used_.end(); });
}

void EarlyCheck::run(std::span<const Record> records, std::vector<Malformed>& bad, std::span<std::int64_t> attributes) {
  const std::size_t width = work_.attributes.size();
  each_group(records, bad, [&](std::span<const Record> group, std::size_t first) {
    return compute(group, attributes.subspan(first * width, group.size() * width));
  });
}

Result<void> EarlyCheck::compute(std::span<const Record> records, std::span<std::int64_t> attributes) {
  if (block_.columns.empty()) block_ = columns_of(program_.schema, pool_.get());
  pool_->look();
  for (Decoding& decoding : decodings_) {
    if (!decoding.memory) decoding.memory = decoding.decoder.memory();
    begin_rows(block_, decoding.columns, std::ssize(records));
    FOREBAY_DO(decoding.decoder.decode(records, 0, block_, *decoding.memory));
  }
  if (work_.attributes.empty()) return {};
  begin_rows(block_, made_, std::ssize(records));
  std::size_t steps = 0;
  for (std::size_t number = 0; number < work_.attributes.size(); ++number) {
    for (; steps < work_.attributes[number].steps; ++steps) {
      const PlacedStep& placed = work_.steps[steps];
      FOREBAY_DO(placed.step->apply(block_, {.stop = pool_.get()}, memories_[steps].get()).at(placed.name));
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
  std::int64_t bytes = 0;
  for (const Decoding& decoding : decodings_) bytes += decoding.memory->bytes();
  for (const auto& memory : memories_) bytes += memory == nullptr ? 0 : memory->bytes();
  for (const ColumnId id : used_) bytes += owned_bytes(block_[id]);
  charge_.set(*pool_, bytes);
  if (bytes <= max_kept) return;
  block_ = {};
  for (Decoding& decoding : decodings_) decoding.memory.reset();
  for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i] = work_.steps[i].step->memory();
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
